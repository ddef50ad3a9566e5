// `planfold secrets list|set|remove`: where secrets come from, never what they are.

import { resolve } from 'node:path'
import type { SecretSource } from '../../../format/settings/secret-settings.ts'
import { listSecrets, removeSecret, secretFault, setSecret } from '../../../operations/policy/secret-sources.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { answer, type Context, EXIT, notFound, printNote, usage } from '../../command.ts'
import { table } from '../../terminal/table.ts'
import { hintText } from '../../text/hint-text.ts'
import { done, placeOf } from './policy.ts'

export interface SourceOptions {
  readonly env?: string
  readonly file?: string
  readonly command?: readonly string[]
}

export async function listAll(context: Context): Promise<number> {
  const { file, secrets } = done(await listSecrets(placeOf(context)))
  answer(context, { file, secrets }, () => {
    if (secrets.length === 0) return 'no secrets are named. Name one: planfold secrets set NAME --env VARIABLE'
    const rows = secrets.map(({ name, source }) => [name, sourceWords(source)])
    return table(context.paint, ['secret', 'comes from'], rows, context.terminal?.columns() ?? null)
  })
  return EXIT.done
}

export async function set(context: Context, name: string, options: SourceOptions): Promise<number> {
  const place = placeOf(context)
  const source = sourceOf(context, options)
  const changed = done(await setSecret(place, name, source))
  const fault = await secretFault(place, name)
  answer(
    context,
    { name, source, changed, fault: fault?.message ?? null },
    () => `${escapeForTerminal(name)} comes from ${sourceWords(source)}`,
  )
  if (fault !== null) {
    printNote(context, `warning: it cannot be read now: ${escapeForTerminal(fault.message)}`)
    if (fault.hint !== undefined) printNote(context, `hint: ${escapeForTerminal(hintText(fault.hint))}`)
  }
  return EXIT.done
}

export async function remove(context: Context, name: string): Promise<number> {
  if (!done(await removeSecret(placeOf(context), name)))
    throw notFound(`the secret '${name}' is not configured`, 'see what there is: planfold secrets list')
  answer(context, { name, changed: true }, () => `forgot where ${escapeForTerminal(name)} comes from`)
  return EXIT.done
}

function sourceOf({ cwd }: Context, { env, file, command }: SourceOptions): SecretSource {
  const said = [env, file, command].filter(one => one !== undefined)
  if (said.length !== 1)
    throw usage(
      'name exactly one source',
      'planfold secrets set NAME --env VARIABLE, --file PATH or --command PROGRAM …',
    )
  if (env !== undefined) return { env }
  if (file !== undefined) return { file: file.startsWith('~/') ? file : resolve(cwd, file) }
  return { command: command ?? [] }
}

function sourceWords(source: SecretSource): string {
  if ('env' in source) return escapeForTerminal(`the environment variable ${source.env}`)
  return escapeForTerminal('file' in source ? `the file ${source.file}` : `the command ${source.command.join(' ')}`)
}
