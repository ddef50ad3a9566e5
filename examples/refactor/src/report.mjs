// The names of the sums it shows come from a file, so no import here tells which function is used.
import * as money from './money.mjs'

export const report = (prices, shown = ['total']) => shown.map(name => `${name}: ${money[name](prices)}`).join(', ')
