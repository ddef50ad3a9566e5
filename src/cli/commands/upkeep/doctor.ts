// `planfold doctor`: what is missing or wrong on this machine and in this state folder, each with its repair.

import { databaseOf, examineDatabase, listRunners, locate, modelsAt } from '../../../compose.ts'
import { findExtra } from '../../../extras.ts'
import { capabilities } from '../../../operations/upkeep/capabilities.ts'
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
    readDatabase: async () => {
      const url = await databaseOf({ cwd, environment, dir: settings.dir }, settings.database)
      return url === undefined ? null : await tried(() => examineDatabase(url))
    },
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

// `planfold doctor store`: proves that the hash chains hold, that the query tables equal the fold of every
// journal; with --read-data every stored blob is read too.

export async function check(context: Context, options: { readonly readData?: boolean }): Promise<number> {
  const { paint } = context
  return await withState(context, { create: false }, async ({ engine }) => {
    const report = await engine.ask({ type: 'check', ...options })
    answer(context, report, () => [
      `${report.ok ? paint.green('✔ store OK') : paint.red('✖ store damaged')}: ${many(report.plans, 'plan')}, ${many(report.entries, 'entry', 'entries')}, ${many(report.blobs, 'blob')} (${megabytes(report.bytes)})`,
      ...report.faults.flatMap(fault => [
        `  ${paint.red('fault')} ${fault.plan === null ? '' : `${escapeForTerminal(fault.plan)}: `}${escapeForTerminal(fault.what)}`,
        `  ${paint.cyan('hint')}: ${escapeForTerminal(fault.hint)}`,
      ]),
      ...(report.unread ?? []).map(
        ({ plan, why }) =>
          `  note  ${escapeForTerminal(plan)}: not damaged, but not checked any further: ${escapeForTerminal(why)}`,
      ),
    ])
    return report.ok ? EXIT.done : EXIT.failed
  })
}

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(1)} MB`

const many = (count: number, one: string, more = `${one}s`): string => `${count} ${count === 1 ? one : more}`

// `planfold doctor capabilities`: what tasks can do, and whether it works on this machine.

export async function listCapabilities(context: Context): Promise<number> {
  const { paint } = context
  const rooms = doctorRooms(context)
  const { findings } = await examine(rooms)
  const found = capabilities(
    listRunners().values(),
    findings,
    await rooms.models.list(),
    (await (await findExtra('agents'))?.listAgents(rooms)) ?? [],
  ).map(each => ({
    ...each,
    repair: each.repair === null ? null : hintText(each.repair),
  }))
  const marks = { yes: paint.green('✔'), partly: paint.yellow('!'), no: paint.red('✖') }
  answer(context, { items: found }, () =>
    found.flatMap(({ action, does, effects, risks, dryRun, works, why, repair }) => [
      `${marks[works]} ${action.padEnd(7)} ${does} ${paint.dim(`(${effects.join(', ')})`)}`,
      ...risks.map(risk => `          ${paint.dim('risk')}: ${risk}`),
      `          ${paint.dim('dry run')}: ${dryRun}`,
      ...(why === null ? [] : [`          ${paint.yellow('here')}: ${escapeForTerminal(why)}`]),
      ...(repair === null ? [] : [`          ${paint.cyan('repair')}: ${escapeForTerminal(repair)}`]),
    ]),
  )
  return EXIT.done
}
