import { total } from './money.mjs'

export const invoice = lines => `due: ${total(lines)} cents`
