/** Small pieces of content, and how a result is made of them. */

/** One red pixel. */
export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

/** Eight silent samples, 8 kHz, 8 bit, mono. */
export const WAV = silence(8).toString("base64");

export const text = (value) => ({ type: "text", text: value });
export const image = () => ({ type: "image", data: PNG, mimeType: "image/png" });
export const audio = () => ({ type: "audio", data: WAV, mimeType: "audio/wav" });
export const embedded = (uri, mimeType, value) => ({
  type: "resource",
  resource: { uri, mimeType, text: value },
});

export const says = (...blocks) => ({
  content: blocks.map((block) => (typeof block === "string" ? text(block) : block)),
});

export const messages = (...blocks) => ({
  messages: blocks.map((content) => ({ role: "user", content })),
});

function silence(samples) {
  const header = Buffer.alloc(44);
  header.write("RIFF", 0);
  header.writeUInt32LE(36 + samples, 4);
  header.write("WAVEfmt ", 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(8000, 24);
  header.writeUInt32LE(8000, 28);
  header.writeUInt16LE(1, 32);
  header.writeUInt16LE(8, 34);
  header.write("data", 36);
  header.writeUInt32LE(samples, 40);
  return Buffer.concat([header, Buffer.alloc(samples, 0x80)]);
}
