// Reads and prints the outputs of a task in the planning playbook, which has four forms: a list of paths, a map that refers to
// `artifacts.x`, artifacts with type and retention, and artifacts of the plan that come `from` a task.

import { defined, isMap, type Json, type JsonObject } from '../../../domain/json.ts'
import type { OutputSource, TaskDefinition } from '../../../domain/plan.ts'
import { isList } from '../../../format/text/source.ts'
import type { Fields } from '../document-builder.ts'

type Outputs = { [name: string]: Json }

/** Reads `artifacts` and `outputs` of a task; `shared` are the plan's artifacts that come from it. */
export function readOutputs(fields: Fields, shared: readonly JsonObject[]): void {
  const outputs: Outputs = {}
  const artifacts = fields.take('artifacts')
  if (artifacts !== undefined) fields.mark(['outputs'], ['artifacts'])
  if (isList(artifacts) && artifacts.every(isArtifact)) {
    const more: Outputs = {}
    for (const artifact of artifacts) declare(artifact, outputs, more)
    if (Object.keys(more).length > 0) fields.remember('artifacts', more)
  } else if (isList(artifacts)) Object.assign(outputs, namedPaths(artifacts))
  else if (artifacts !== undefined) fields.remember('artifacts', artifacts)

  const written = fields.take('outputs')
  if (written !== undefined) fields.mark(['outputs'], ['outputs'])
  if (isList(written)) {
    const known = written.filter(name => typeof name === 'string' && Object.hasOwn(outputs, name))
    Object.assign(outputs, namedPaths(written.filter(name => !known.includes(name))))
  } else if (isMap(written)) {
    const aliases: Outputs = {}
    for (const [name, source] of Object.entries(written)) {
      outputs[name] = outputOf(source, outputs)
      if (artifactOf(source) !== null && artifactOf(source) !== name) aliases[name] = source
    }
    if (Object.keys(aliases).length > 0) fields.remember('outputs', aliases)
  } else if (written !== undefined) {
    fields.put('outputs', written)
    return
  }
  for (const artifact of shared) {
    const name = artifact.name as string
    if (!Object.hasOwn(outputs, name)) outputs[name] = report(artifact)
  }
  if (Object.keys(outputs).length > 0 || isMap(written)) fields.put('outputs', outputs)
}

/** The keys `artifacts` and `outputs` of a task, without what the plan's artifacts already contain. */
export function printOutputs(task: TaskDefinition, shared: readonly JsonObject[]): JsonObject {
  const { outputs, extra } = task
  if (outputs === undefined) return {}
  const entries = Object.entries(outputs)
  const paths = entries.flatMap(([, source]) => (source.from === 'file' ? [source.file] : []))
  const isPlain = entries.every(([, source]) => Object.keys(traitsOf(source)).length === 0)
  if (isPlain && paths.length === entries.length && paths.length > 0 && readAsWritten(namedPaths(paths), entries))
    return { outputs: paths }
  const known = new Set(shared.filter(one => isReport(outputs[one.name as string], one)).map(({ name }) => name))
  const aliases = isMap(extra?.outputs) ? extra.outputs : {}
  const more = isMap(extra?.artifacts) ? extra.artifacts : {}
  const artifacts: JsonObject[] = []
  const written: Outputs = {}
  for (const [name, source] of entries) {
    if (source.from !== 'report') {
      written[name] = {
        ...(source.from === 'file' ? { file: source.file } : { stdout: source.as }),
        ...traitsOf(source),
      }
      continue
    }
    const alias = artifactOf(aliases[name])
    if (alias !== null && Object.hasOwn(outputs, alias) && sameSource(outputs[alias], source)) {
      written[name] = aliases[name] as Json
      continue
    }
    if (known.has(name)) continue
    const { type, retention, kind, cites } = source
    if (kind !== undefined || cites !== undefined) {
      written[name] = { report: type ?? true, ...defined({ kind, retention, cites }) }
      continue
    }
    const others = isMap(more[name]) ? more[name] : {}
    artifacts.push({
      name,
      ...defined({ type, retention }),
      ...others,
    })
    written[name] = `artifacts.${name}`
  }
  return {
    ...(artifacts.length === 0 ? {} : { artifacts }),
    ...(Object.keys(written).length === 0 && entries.length > 0 ? {} : { outputs: written }),
  }
}

/** Names for paths: the file name without its extension, or with it if that name is taken. */
export function namedPaths(paths: readonly Json[]): Outputs {
  const outputs: Outputs = {}
  for (const [index, path] of paths.entries()) {
    const text = typeof path === 'string' ? path : ''
    const base = text.split(/[\\/]/).findLast(part => part !== '') ?? ''
    const choices = [base.replace(/(?<=.)\.[^.]*$/, ''), base, `${base}-${index + 1}`, `output-${index + 1}`].map(
      outputName,
    )
    const name = choices.find(choice => choice !== null && !Object.hasOwn(outputs, choice)) ?? `output-${index + 1}`
    outputs[name] = typeof path !== 'string' ? path : /[./\\]/.test(path) ? { file: path } : { report: true }
  }
  return outputs
}

function outputName(text: string): string | null {
  const name = text
    .replace(/[^\w.-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 90)
  if (name === '' || RESERVED.has(name)) return null
  return /^\d/.test(name) ? `_${name}` : name
}

const RESERVED = new Set(['__proto__', 'constructor', 'prototype'])

function outputOf(source: Json, declared: Outputs): Json {
  if (typeof source !== 'string' || source === 'stdout') return source
  const artifact = artifactOf(source)
  if (artifact !== null) return Object.hasOwn(declared, artifact) ? (declared[artifact] as Json) : { report: true }
  return /^\S+$/.test(source) && /[./\\]/.test(source) ? { file: source } : { report: source }
}

function artifactOf(source: Json | undefined): string | null {
  return typeof source === 'string' ? (/^artifacts\.([A-Za-z_][\w.-]{0,99})$/.exec(source)?.[1] ?? null) : null
}

export function isArtifact(value: Json): value is JsonObject {
  return isMap(value) && typeof value.name === 'string' && !RESERVED.has(value.name)
}

function declare(artifact: JsonObject, outputs: Outputs, more: Outputs): void {
  const { name, type: _, retention: __, ...rest } = artifact
  const { path, file = path, ...other } = rest
  outputs[name as string] = typeof file === 'string' ? { file } : report(artifact)
  const kept = typeof file === 'string' ? other : rest
  if (Object.keys(kept).length > 0) more[name as string] = kept
}

function report({ type, retention }: JsonObject): JsonObject {
  return { report: type ?? true, ...(retention === undefined ? {} : { retention }) }
}

function isReport(source: OutputSource | undefined, artifact: JsonObject): boolean {
  return source?.from === 'report' && source.type === artifact.type && source.retention === artifact.retention
}

/** Would a list of paths be read as the same outputs again? Only if all are files, under the names that reading gives them. */
function readAsWritten(named: Outputs, entries: readonly (readonly [string, OutputSource])[]): boolean {
  const names = Object.keys(named)
  return (
    names.length === entries.length &&
    entries.every(([name], index) => names[index] === name && isMap(named[name]) && Object.hasOwn(named[name], 'file'))
  )
}

const traitsOf = ({ kind, type, retention, cites }: OutputSource) => defined({ kind, type, retention, cites })

function sameSource(a: OutputSource | undefined, b: OutputSource): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
