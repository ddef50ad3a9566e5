// The log of the service: one JSON object a line, written by pino. What a request carried is never in it, nor its query: only
// which route, how it ended, and who asked.

import { pino } from 'pino'
import type { Log } from '../service.ts'

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
