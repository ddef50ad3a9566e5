// Times as people read them: `3.2s`, `1m 05s`, `2h 10m`, `14:03:55`.

import type { Millis } from '../../domain/id.ts'

export function elapsed(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 10) return `${seconds.toFixed(1)}s`
  if (seconds < 60) return `${Math.floor(seconds)}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m ${two(Math.floor(seconds % 60))}s`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours}h ${two(minutes % 60)}m` : `${Math.floor(hours / 24)}d ${hours % 24}h`
}

export function timeOfDay(at: Millis): string {
  const date = new Date(at)
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

export function dateAndTime(at: Millis): string {
  const date = new Date(at)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${timeOfDay(at)}`
}

export function ago(at: Millis, now: Millis): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000))
  if (seconds < 5) return 'just now'
  if (seconds < 60) return `${seconds}s ago`
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ago`
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)}h ago` : `${Math.floor(seconds / 86_400)}d ago`
}

const two = (value: number): string => String(value).padStart(2, '0')
