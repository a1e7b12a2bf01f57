// Names of fields in code, as the files spell them.

export function asWritten(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
