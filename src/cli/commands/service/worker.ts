// `planfold worker` drives plans until it is stopped; `planfold top` shows the workers, and what waits for one.

import { numberOf } from '../../../domain/phrases.ts'
import type { WorkerRow, WorkersView } from '../../../engine/engine.ts'
import { answer, type Context, EXIT, printNote, withState } from '../../command.ts'
import { table } from '../../terminal/table.ts'

export interface WorkerOptions {
  readonly label?: readonly string[]
  readonly concurrency: number
}

// The worker, until it is stopped.
//
//   driving ── SIGINT/SIGTERM ──→ draining (begins no plan and no task; what runs ends or is stopped where it can be repeated, and the
//                                 plans are free for other workers)
//           ── again ──→ forced (kills what runs; what may not be repeated asks a person)

export async function runWorker(context: Context, { label = [], concurrency }: WorkerOptions): Promise<number> {
  const asked = { create: true, serving: true, labels: label }
  return await withState(context, asked, async ({ worker, root, labels }) => {
    const [stop, force] = [new AbortController(), new AbortController()]
    const reported = new Map<string, string>()
    const unlisten = context.onSignal(() => {
      if (stop.signal.aborted) return force.abort()
      stop.abort()
      printNote(context, 'draining; signal again to stop at once')
    })
    answer(context, { pid: process.pid, root, labels, concurrency }, () => [
      `worker ${process.pid} drives plans of ${root}, at most ${numberOf(concurrency, 'plan')} at once`,
      `labels: ${labels.join(', ')}`,
    ])
    try {
      await worker.attend({
        stop: stop.signal,
        force: force.signal,
        max: concurrency,
        onDriven: (plan, driven) => {
          if (driven.status !== 'elsewhere' || reported.get(plan) === driven.reason) return
          reported.set(plan, driven.reason)
          printNote(context, `plan ${plan} waits for another worker: ${driven.reason}`)
        },
        onTrouble: (trouble, plan) => context.stderr.write(`${troubleText(trouble, plan)}\n`),
      })
    } finally {
      unlisten()
    }
    return EXIT.done
  })
}

const troubleText = (trouble: unknown, plan: string | null): string =>
  `${plan === null ? '' : `plan ${plan}: `}${trouble instanceof Error ? trouble.message : String(trouble)}`

export async function top(context: Context): Promise<number> {
  return await withState(context, { create: false }, async ({ engine }) => {
    const found = await engine.ask({ type: 'workers' })
    answer(context, found, () => topLines(context, found))
    return EXIT.done
  })
}

function topLines({ paint, terminal }: Context, { workers, queue }: WorkersView): readonly string[] {
  const rows = workers.map(worker => [
    `${worker.pid}@${worker.host}`,
    stateOf(worker),
    `${worker.plans}/${worker.concurrency ?? '-'}`,
    worker.labels.join(', '),
  ])
  return [
    ...(rows.length === 0
      ? ['no worker. Next: planfold worker']
      : [table(paint, ['worker', 'state', 'plans', 'labels'], rows, terminal?.columns() ?? null)].flat()),
    ...(queue === null ? [] : queueLines(queue)),
  ]
}

const stateOf = ({ alive, draining, plans }: WorkerRow): string => {
  if (!alive) return 'gone'
  if (draining) return 'draining'
  return plans > 0 ? 'driving' : 'idle'
}

function queueLines({ due, oldestMs, later, tailLagMs, unmet }: NonNullable<WorkersView['queue']>): readonly string[] {
  const since = oldestMs === null || due === 0 ? '' : `, the first for ${(oldestMs / 1000).toFixed(1)} s`
  return [
    `queue: ${numberOf(due, 'plan')} due${since}; ${later} with a timer; live streams are ${(tailLagMs / 1000).toFixed(1)} s behind`,
    ...unmet.map(({ labels, folder, plans }) => {
      const wants = labels.length === 0 ? '' : ` with ${labels.join(', ')}`
      return `${numberOf(plans, 'plan')} ${plans === 1 ? 'waits' : 'wait'} for a worker${wants}${folder === null ? '' : ` in ${folder}`}`
    }),
  ]
}
