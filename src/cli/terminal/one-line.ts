// Text of others in one line that is not theirs to fill: escaped, and cut where it would push away what stands beside it.

import { escapeForTerminal, indentedLines } from '../../safety/text/terminal.ts'
import { cut } from './table.ts'

const TEXT_MAX = 400
const LINE_MAX = 1_000
const MEASURED_MAX = 4_000

export const brief = (text: string): string => cut(escapeForTerminal(headOf(text)), TEXT_MAX)

export const briefLines = (text: string, columns: number): string => indentedLines(cut(headOf(text), TEXT_MAX), columns)

/** A line of several such texts. It must be escaped already. */
export const briefLine = (line: string): string => cut(headOf(line), LINE_MAX)

const headOf = (text: string): string => (text.length > MEASURED_MAX ? `${text.slice(0, MEASURED_MAX)}…` : text)
