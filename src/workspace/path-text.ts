// Paths as the door of this room shows them. Names on Linux are bytes; those that are no UTF-8 become lone surrogates, one
// for each byte, as Python does it: unlike a replacement character they lead back to exactly the same name.

import { isUtf8 } from 'node:buffer'
import { type BytePath, bytesOf } from './manifest.ts'

export function pathText(path: BytePath): string {
  if (isAscii(path)) return path
  const bytes = bytesOf(path)
  if (isUtf8(bytes)) return bytes.toString('utf8')
  let text = ''
  for (let at = 0; at < bytes.length; ) {
    const length = [1, 2, 3, 4].find(count => at + count <= bytes.length && isUtf8(bytes.subarray(at, at + count)))
    text += length === undefined ? String.fromCharCode(0xdc00 + bytes[at]!) : bytes.toString('utf8', at, at + length)
    at += length ?? 1
  }
  return text
}

export function pathBytes(text: string): BytePath {
  if (isAscii(text)) return text
  let path = ''
  for (const character of text) {
    const code = character.codePointAt(0)!
    if (code >= 0xdc80 && code <= 0xdcff) path += String.fromCharCode(code - 0xdc00)
    else path += Buffer.from(character).toString('latin1')
  }
  return path
}

export function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false
  return true
}
