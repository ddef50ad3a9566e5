// `planfold backup` and `planfold copy`: everything of a store, in a file or in another store.

import { copyStores, createBackup, restoreBackup, verifyBackup } from '../../../compose.ts'
import { numberOf } from '../../../domain/phrases.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT } from '../../command.ts'

interface CopyOptions {
  readonly withConfidential?: boolean
}

type Report = Awaited<ReturnType<typeof copyStores>>

export async function backupCreate(context: Context, file: string): Promise<number> {
  const report = await createBackup(placeOf(context), file, context.settings.database)
  answer(context, report, () => [
    `${context.paint.green('✔')} written to ${escapeForTerminal(report.to)}`,
    ...lines(report),
  ])
  return EXIT.done
}

export async function backupVerify(context: Context, file: string): Promise<number> {
  const report = await verifyBackup(placeOf(context), file)
  answer(context, report, () => [
    `${context.paint.green('✔')} backup OK, of ${new Date(report.at).toISOString()}: every checksum and every chain holds`,
    ...lines(report),
  ])
  return EXIT.done
}

export async function backupRestore(context: Context, file: string, options: CopyOptions): Promise<number> {
  const { database } = context.settings
  const report = await restoreBackup(placeOf(context), file, {
    ...options,
    ...(database === undefined ? {} : { database }),
  })
  answer(context, report, () => [
    `${context.paint.green('✔')} restored to ${escapeForTerminal(report.to)}, and read again: it is the same`,
    ...lines(report),
  ])
  return EXIT.done
}

export async function copy(
  context: Context,
  names: CopyOptions & { readonly from: string; readonly to: string },
): Promise<number> {
  const report = await copyStores(placeOf(context), names)
  answer(context, report, () => [
    `${context.paint.green('✔')} copied to ${escapeForTerminal(report.to)}; both were read again, and every row is the same`,
    ...lines(report),
    `${numberOf(report.sent, 'content of a file', 'contents of files')} had to be sent, each verified by its hash`,
  ])
  return EXIT.done
}

function lines({ position, tables, blobs }: Pick<Report, 'position' | 'tables' | 'blobs'>): readonly string[] {
  const rows = (table: string) => tables[table]?.rows ?? 0
  const counts = [
    numberOf(rows('plans'), 'plan'),
    numberOf(rows('entries'), 'entry'),
    numberOf(rows('streams'), 'session or goal', 'sessions and goals'),
    numberOf(rows('task_logs'), 'piece of task output', 'pieces of task output'),
    numberOf(blobs, 'content of a file', 'contents of files'),
  ]
  return [`position ${position}: ${counts.join(', ')}`, `entries sha256 ${tables.entries?.sha256 ?? ''}`]
}

const placeOf = ({ cwd, environment, settings }: Context) => ({
  cwd,
  environment,
  ...(settings.dir === undefined ? {} : { dir: settings.dir }),
})
