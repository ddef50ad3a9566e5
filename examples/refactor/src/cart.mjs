import { total } from './money.mjs'

export const cart = items => ({ items: items.length, cents: total(items.map(({ cents }) => cents)) })
