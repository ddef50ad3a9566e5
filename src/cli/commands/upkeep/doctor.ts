// `planfold doctor`: what is missing or wrong on this machine and in this state folder, each with its repair.

import { locate, modelsAt } from '../../../compose.ts'
import { type DoctorRooms, examine, type Tried } from '../../../operations/upkeep/doctor.ts'
import type { Models } from '../../../runners/models.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, complaintOf, EXIT, withState } from '../../command.ts'
import { hintText } from '../../text/hint-text.ts'

export function doctorRooms(context: Context): DoctorRooms & { readonly models: Models } {
  const { cwd, environment, now, settings } = context
  const place = locate({ cwd, environment, dir: settings.dir })
  return {
    ...place,
    environment,
    now,
    models: modelsAt({ environment, ...place }),
    readStore: () =>
      tried(() =>
        withState(context, { create: false, reading: true }, async ({ engine }) => {
          const newest = await engine.ask({ type: 'overview', order: 'updated', limit: 1 })
          return newest.items[0]?.updatedAt ?? null
        }),
      ),
    makeStore: folder => tried(() => withState(context, { create: true, dir: folder }, async () => null)),
  }
}

export async function doctor(context: Context): Promise<number> {
  const { paint } = context
  const { ok, findings } = await examine(doctorRooms(context))
  const report = {
    ok,
    findings: findings.map(each => ({ ...each, repair: each.repair === null ? null : hintText(each.repair) })),
  }
  const marks = { ok: paint.green('✔'), warning: paint.yellow('!'), problem: paint.red('✖') }
  answer(context, report, () => [
    ...report.findings.flatMap(({ part, status, message, repair }) => [
      `${marks[status]} ${part.padEnd(11)} ${escapeForTerminal(message)}`,
      ...(repair === null ? [] : [`  ${paint.cyan('repair')}: ${escapeForTerminal(repair)}`]),
    ]),
  ])
  return report.ok ? EXIT.done : EXIT.failed
}

/** An exception while a part is examined is its finding. */
async function tried<T>(work: () => Promise<T>): Promise<Tried<T>> {
  try {
    return { ok: true, value: await work() }
  } catch (error) {
    const complaint = complaintOf(error)
    if (complaint !== null) return { ok: false, message: complaint.message, hint: complaint.hint }
    return { ok: false, message: error instanceof Error ? error.message : String(error), hint: null }
  }
}
