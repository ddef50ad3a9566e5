// The log of the service: one JSON object a line, written by pino. What a request carried is never in it, nor its query: only
// which route, how it ended, and who asked.

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

/** Structured lines; fields first, so that a line is one JSON object. */
export interface Log {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
}

export type LogFields = { readonly [name: string]: unknown }
