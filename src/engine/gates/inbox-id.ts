// Short ids of inbox items, easy to read aloud and type. Most are derived from the key of the question, so the same question has the same
// id on every machine; others were stored with the question or proposal.

import { createHash } from 'node:crypto'
import { ownIdOf } from '../../domain/views/inbox.ts'

const ID_LENGTH = 8
/** Without letters that look like digits or like each other, and without `u`. */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'

export function inboxId(key: string): string {
  return ownIdOf(key) ?? spelt(createHash('sha256').update(key).digest())
}

export const newQuestionId = (random: (bytes: number) => Uint8Array): string => spelt(random(ID_LENGTH))

const spelt = (bytes: Uint8Array): string =>
  Array.from(bytes.subarray(0, ID_LENGTH), byte => DIGITS[byte & 31]).join('')
