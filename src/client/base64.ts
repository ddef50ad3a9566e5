// Bytes from the text they travelled as, with what both Node and browsers have.

export function bytesFrom(text: string): Uint8Array {
  return Uint8Array.from(atob(text), char => char.charCodeAt(0))
}
