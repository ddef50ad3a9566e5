// The colours of statuses, the same in every picture.

import type { TaskStatus } from '../../domain/status.ts'

/** Fill and border. */
export const COLOURS: Readonly<Record<TaskStatus, { readonly fill: string; readonly stroke: string }>> = {
  pending: { fill: '#ffffff', stroke: '#999999' },
  ready: { fill: '#eaf2ff', stroke: '#5b8def' },
  running: { fill: '#d6eaf8', stroke: '#2277cc' },
  waiting: { fill: '#fcf3cf', stroke: '#bb8800' },
  blocked: { fill: '#fae5d3', stroke: '#cc7722' },
  completed: { fill: '#d4f4dd', stroke: '#22aa77' },
  failed: { fill: '#fadbd8', stroke: '#cc3333' },
  skipped: { fill: '#eeeeee', stroke: '#aaaaaa' },
  abandoned: { fill: '#e8daef', stroke: '#8855aa' },
  cancelled: { fill: '#e5e5e5', stroke: '#777777' },
}
