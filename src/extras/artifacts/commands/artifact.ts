// `planfold artifact list | get | put`.

import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { answer, CliError, type Context, EXIT, notFound, refused, usage, withState } from '../../../cli/command.ts'
import { findPlan, findTask } from '../../../cli/find-target.ts'
import { table } from '../../../cli/terminal/table.ts'
import { type ArtifactAddress, findArtifact, readAddress } from '../../../domain/artifacts/artifact-list.ts'
import type { PlanId, TaskName } from '../../../domain/id.ts'
import { numberOf } from '../../../domain/phrases.ts'
import type { Engine } from '../../../engine/engine.ts'
import type { ArtifactFound, ListedArtifact } from '../../../engine/queries.ts'
import { escapeForTerminal } from '../../../safety/text/terminal.ts'
import { uploadFile } from '../uploads.ts'

const PAGE = 1_000
const SHOWN_MAX = 200

export async function allArtifacts(engine: Pick<Engine, 'ask'>, plan: PlanId): Promise<readonly ListedArtifact[]> {
  const all: ListedArtifact[] = []
  for (;;) {
    const page = await engine.ask({ type: 'artifacts', plan, after: all.length, limit: PAGE })
    all.push(...(page?.items ?? []))
    if (page === null || page.items.length === 0 || all.length >= page.total) return all
  }
}

/** The bytes, or why there are none. */
export async function contentOf(engine: Pick<Engine, 'ask'>, plan: PlanId, found: ListedArtifact): Promise<Uint8Array> {
  const { address, expires, retention, sha256 } = found
  if (found.expired)
    throw new CliError(
      EXIT.refused,
      'expired',
      `the content of ${address} expired on ${day(expires!)}: it was kept for ${retention}`,
      'run its task again to make it anew',
    )
  const type = found.confidential ? 'confidentialArtifact' : 'artifact'
  const bytes = await engine.ask({ type, plan, sha256 })
  if (bytes !== null) return bytes
  throw new CliError(
    EXIT.failed,
    'missing',
    `the content of ${address} is missing in the data folder`,
    'planfold doctor store',
  )
}

export async function listArtifacts(
  context: Context,
  word: string | undefined,
  options: { readonly task?: string },
): Promise<number> {
  return await withState(context, { create: false, reading: true }, async ({ engine }) => {
    const { plan, name } = await findPlan(engine, word, { looking: true })
    const all = (await allArtifacts(engine, plan)).filter(
      ({ task }) => options.task === undefined || task === options.task,
    )
    answer(context, { plan: name, artifacts: all }, () => {
      if (all.length === 0) return `${name} has no artifacts`
      const rows = all
        .slice(-SHOWN_MAX)
        .map(one => [
          escapeForTerminal(one.address),
          one.type === null ? one.kind : `${one.kind}: ${escapeForTerminal(one.type)}`,
          one.bytes === null ? '' : String(one.bytes),
          one.sha256.slice(0, 12),
          standing(one),
        ])
      const shown = table(
        context.paint,
        ['artifact', 'kind', 'bytes', 'hash', 'kept'],
        rows,
        context.terminal?.columns() ?? null,
      )
      const more =
        all.length > SHOWN_MAX
          ? [`the last ${SHOWN_MAX} of ${numberOf(all.length, 'artifact')}; all of them: --json`]
          : []
      return [...(typeof shown === 'string' ? [shown] : shown), ...more]
    })
    return EXIT.done
  })
}

function standing({ confidential, expired, expires, retention }: ListedArtifact): string {
  const kept = expires === null ? escapeForTerminal(retention) : `${expired ? 'expired' : 'until'} ${day(expires)}`
  return confidential ? `${kept}, confidential` : kept
}

export async function getArtifact(
  context: Context,
  word: string,
  options: { readonly out?: string; readonly about?: boolean },
): Promise<number> {
  const address = demandAddress(word)
  return await withState(context, { create: false, reading: true }, async ({ engine }) => {
    const { plan } = await findPlan(engine, address.plan, { looking: true })
    const asked = { type: 'artifactOf', ...address, plan } as const
    const found = await engine.ask(asked)
    if (found === null) throw await noArtifact(engine, plan, address)
    if (options.about === true) {
      answer(context, found, () => aboutLines(found).map(line => escapeForTerminal(line)))
      return EXIT.done
    }
    const bytes = await contentOf(engine, plan, found)
    if (options.out === undefined && !context.settings.json) {
      context.stdout.write(
        context.terminal === null ? bytes : escapeForTerminal(Buffer.from(bytes).toString('utf8'), { keepLines: true }),
      )
      return EXIT.done
    }
    if (options.out !== undefined) await writeNew(resolve(context.cwd, options.out), bytes)
    const content =
      options.out === undefined ? { base64: Buffer.from(bytes).toString('base64') } : { written: options.out }
    answer(context, { ...found, ...content }, () => `written: ${escapeForTerminal(options.out ?? '')}`)
    return EXIT.done
  })
}

async function noArtifact(
  engine: Pick<Engine, 'ask'>,
  plan: PlanId,
  { task, name, version }: ArtifactAddress,
): Promise<CliError> {
  const all = await allArtifacts(engine, plan)
  const last = findArtifact(all, { task, name })
  if (last !== undefined) return notFound(`there is no version '${version}' of it`, `the last one is ${last.address}`)
  const some = all.slice(0, 3).map(({ address }) => address)
  return notFound(
    `'${task}' left no artifact '${name}'`,
    some.length === 0 ? 'the plan has no artifacts yet' : `there are: ${some.join(', ')}${all.length > 3 ? ', …' : ''}`,
  )
}

/** An existing file is never overwritten. */
export async function writeNew(path: string, bytes: Uint8Array | string): Promise<void> {
  try {
    await writeFile(path, bytes, { flag: 'wx' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST')
      throw new CliError(EXIT.refused, 'exists', `'${path}' exists; nothing is overwritten`, 'choose another name')
    if (code === 'ENOENT') throw usage(`there is no folder for '${path}'`, 'make it first')
    throw error
  }
}

export async function putArtifact(
  context: Context,
  word: string,
  file: string,
  { token }: { readonly token: string },
): Promise<number> {
  const { plan: first, task: second, name, version } = demandAddress(word)
  if (version !== undefined)
    throw usage('a version cannot be chosen', 'leave out what follows the `@`: other content is the next version')
  return await withState(context, { create: false }, async ({ engine }) => {
    const { plan, task } = await findTask(engine, first, second)
    const to = { plan, task: task as TaskName, token, name }
    const done = await uploadFile(engine, to, resolve(context.cwd, file)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === undefined) throw error
      throw usage(`'${file}' cannot be read: ${error.code}`, 'name a file')
    })
    if (!done.ok) throw refused(done.refusal)
    const found = await engine.ask({ type: 'artifactOf', plan, task, name })
    const sent = done.sent === done.bytes ? '' : `, ${done.sent} of them sent now`
    answer(
      context,
      { ...found, sent: done.sent },
      () => `${found?.address}: ${done.bytes} bytes${sent}, ${done.sha256}`,
    )
    return EXIT.done
  })
}

function demandAddress(word: string): ArtifactAddress {
  const address = readAddress(word)
  if (address === null)
    throw usage(`'${word}' is not the address of an artifact`, 'write plan/task/name, or plan/task/name@version')
  return address
}

function aboutLines({ provenance, ...one }: ArtifactFound): readonly string[] {
  const { did, inputs, inputHash, environment, model, approvals, ledTo, revision } = provenance
  const decided = (what: string, all: typeof approvals) =>
    all.map(({ task, what: how, by, at, rationale }) => {
      const why = rationale === undefined ? '' : `: ${rationale}`
      return `${what}  ${task} ${how} by ${by}, ${time(at)}${why}`
    })
  return [
    one.address,
    `hash      ${one.sha256}${one.bytes === null ? '' : `, ${one.bytes} bytes`}, ${one.content}`,
    `kind      ${one.kind}${one.type === null ? '' : `: ${one.type}`}${one.file === null ? '' : `, ${one.file}`}`,
    `kept      ${standing(one)}`,
    `made      ${time(one.at)} by ${one.by}: ${one.how} of run ${one.visit}, attempt ${one.attempt}, revision ${revision}`,
    `did       ${JSON.stringify(did)}`,
    ...(inputHash === null ? [] : [`inputs    ${inputHash}`]),
    ...inputs.map(({ address, sha256 }) => `read      ${address}, ${sha256}`),
    ...(environment.runs === null ? [] : [`ran       ${environment.runs}`]),
    ...environment.programs.map(program => `with      ${program}`),
    ...(model === null
      ? []
      : [`model     ${model.model}, ${numberOf(model.calls, 'call')}, recorded as ${model.recording}`]),
    ...decided('approval', approvals),
    ...decided('led to  ', ledTo),
    ...one.cites.map(url => `cites     ${url}`),
  ]
}

const time = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`
const day = (at: number): string => new Date(at).toISOString().slice(0, 10)
