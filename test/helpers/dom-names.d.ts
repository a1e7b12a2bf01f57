// Names of the DOM that the types of playwright-core mention. Tests run in Node.js, and use none of them.

interface Node {}
interface HTMLElement {}
interface SVGElement {}
interface HTMLElementTagNameMap {}
