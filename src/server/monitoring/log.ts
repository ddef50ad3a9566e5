// The log of the service: one JSON object per line, written by pino. It never contains request bodies or queries, only the route,
// the outcome and the caller.

import { pino } from 'pino'

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export function openLog(level: LogLevel, out: { write(line: string): void }): Log {
  const log = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, formatters: { level: named } }, out)
  return {
    debug: (fields, message) => log.debug(fields, message),
    info: (fields, message) => log.info(fields, message),
    warn: (fields, message) => log.warn(fields, message),
    error: (fields, message) => log.error(fields, message),
  }
}

const named = (label: string): object => ({ level: label })

export interface Log {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

export type LogFields = { readonly [name: string]: unknown }
