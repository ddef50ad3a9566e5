// A plan as a template, for the next time: what belongs to this one run is taken out (where it came from, dates, items that
// were bound), and the given values become parameters wherever they stand as whole words. Names of tasks and keys stay as
// they are, for other parts of the plan call them so; scripts too, for nothing may be spliced into one.

import { isMap as isYamlMap, type Node, type YAMLMap } from 'yaml'
import type { Hint } from '../../domain/hint.ts'
import { isMap, type Json, type JsonObject } from '../../domain/json.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { asLiteral, templateExpressions } from '../../format/expression/template.ts'
import { raisePlan } from '../../format/plan/definition-to-document.ts'
import { canonicalJson } from '../../format/plan/hash.ts'
import { clip } from '../../format/text/diagnostic.ts'
import { spaceItems, yamlText } from '../../format/text/yaml-text.ts'
import { isTemplateName, readTemplate } from './document.ts'
import { instantiate } from './instantiate.ts'
import { kindOfItems, kindUnder, type TextKind } from './text-kind.ts'

/** The name of a parameter and the value that stands for it in the plan. */
export type Given = readonly (readonly [name: string, value: string])[]

export type Saved =
  | { readonly ok: true; readonly text: string; readonly notes: readonly string[] }
  | { readonly ok: false; readonly message: string; readonly hint: Hint }

export function saveTemplate(definition: PlanDefinition, name: string, parameters: Given): Saved {
  const wrong = faultOf(name, parameters)
  if (wrong !== null) return { ok: false, ...wrong }
  const saver = new Saver(parameters)
  const { name: _, planfold: __, ...plan } = timeless(raisePlan(definition), saver.notes) as { [key: string]: Json }
  const made = saver.value(plan, 'plan', []) as JsonObject
  const text = printTemplate({
    'planfold-template': 2,
    name,
    about: `Saved from the plan '${definition.name}'`,
    ...(parameters.length === 0 ? {} : { parameters: declared(parameters) }),
    plan: made,
  })
  for (const [parameter, value] of parameters) {
    if (!saver.used.has(parameter))
      return {
        ok: false,
        message: `'${clip(value)}' does not occur in the plan as a whole word`,
        hint: `check the value of '${parameter}'; names of tasks and scripts are left as they are`,
      }
  }
  const lost = proof(text, parameters, plan)
  return lost === null ? { ok: true, text, notes: saver.notes } : { ok: false, ...lost }
}

/** Made again with the same values, it must be the same plan. */
function proof(text: string, parameters: Given, plan: JsonObject): { message: string; hint: Hint } | null {
  const hint = 'please keep the plan document instead, and report this'
  const read = readTemplate(text)
  if (!read.ok) return { message: `the template cannot be read back: ${read.diagnostics[0]?.message ?? ''}`, hint }
  const made = instantiate(read.template, Object.fromEntries(parameters), { name: 'proof' })
  if (!made.ok) {
    const first = made.problems[0] ?? made.diagnostics[0]
    return { message: `the template makes no plan: ${first?.message ?? ''}`, hint: first?.hint ?? hint }
  }
  const again = raisePlan(made.definition) as { [key: string]: Json }
  const { template: _, ...extra } = again.extra as { [key: string]: Json }
  const { name: __, planfold: ___, extra: ____, ...rest } = again
  const same = { ...rest, ...(Object.keys(extra).length === 0 ? {} : { extra }) }
  // A value lands in an expression in double quotes, whatever quotes stood there.
  const bare = (plan: JsonObject): string => canonicalJson(plan).replace(/\\"|'/g, '`')
  return bare(same) === bare(plan) ? null : { message: 'the template makes another plan', hint }
}

/** Without what belongs to one run only. */
function timeless(plan: JsonObject, notes: string[]): JsonObject {
  const { extra, tasks, session: _, ...rest } = plan
  const { template: __, ...kept } = isMap(extra) ? extra : {}
  const bare = (tasks as readonly Json[]).map(task => timelessTask(task as JsonObject, notes))
  return { ...rest, ...(Object.keys(kept).length === 0 ? {} : { extra: kept }), tasks: bare }
}

function timelessTask(task: JsonObject, notes: string[]): JsonObject {
  const { deadline, for_each: each, subplan, ...rest } = task as { [key: string]: Json }
  if (deadline !== undefined) notes.push(`the deadline ${String(deadline)} of '${String(task.id)}' is left out`)
  const bound = isMap(each) && Object.hasOwn(each, 'in') && Object.hasOwn(each, 'items')
  if (bound) notes.push(`the items of '${String(task.id)}' are left out; they are looked up again`)
  const steps = Array.isArray(subplan) ? (subplan as readonly Json[]) : null
  return {
    ...rest,
    ...(each === undefined ? {} : { for_each: bound ? (each as JsonObject).in! : each }),
    ...(steps === null ? {} : { subplan: steps.map(step => (isMap(step) ? timelessTask(step, notes) : step)) }),
  }
}

interface Word {
  readonly name: string
  readonly value: string
  readonly pattern: RegExp
}

/** Puts parameters in the place of values: beside `${{ }}` as whole words, in an expression as a whole text in quotes. */
class Saver {
  readonly notes: string[] = []
  readonly used = new Set<string>()
  /** Longer values first: what stands inside another is not found there any more. */
  readonly #words: readonly Word[]

  constructor(parameters: Given) {
    this.#words = [...parameters]
      .sort(([, a], [, b]) => b.length - a.length)
      .map(([name, value]) => ({ name, value, pattern: wholeWord(value) }))
  }

  value(value: Json, kind: TextKind, path: readonly (string | number)[]): Json {
    if (typeof value === 'string') return this.#string(value, kind, path)
    if (Array.isArray(value)) {
      const kindOf = kindOfItems(kind, value as readonly Json[])
      return (value as readonly Json[]).map((item, index) => this.value(item, kindOf(index), [...path, index]))
    }
    if (!isMap(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) =>
        kind === 'parts' && NAMES.has(key)
          ? [key, item]
          : [key, this.value(item, kindUnder(kind, key), [...path, key])],
      ),
    )
  }

  #string(text: string, kind: TextKind, path: readonly (string | number)[]): string {
    if (kind === 'command' || kind === 'code') return this.#kept(text, path)
    if (kind === 'expression') return this.#expression(text, path)
    if (kind === 'text' || kind === 'parts') return this.#replace(text, asLiteral)
    let made = ''
    let at = 0
    for (const { source, position } of templateExpressions(text)) {
      const open = text.lastIndexOf('${{', position)
      const close = text.indexOf('}}', position + source.length) + 2
      made += `${this.#replace(text.slice(at, open))}\${{ ${this.#expression(source, path)} }}`
      at = close
    }
    return made + this.#replace(text.slice(at))
  }

  #replace(text: string, between: (text: string) => Json = text => text): string {
    const word = this.#words.find(({ pattern }) => text.search(pattern) !== -1)
    if (word === undefined) return between(text) as string
    this.used.add(word.name)
    return text
      .split(word.pattern)
      .map(part => this.#replace(part, between))
      .reduce((made, part) => {
        // A dollar right before an expression would turn it into text.
        const [dollars] = /\$*$/.exec(made)!
        const value = dollars === '' ? '' : `'${dollars}' + `
        return `${made.slice(0, made.length - dollars.length)}\${{ ${value}params.${word.name} }}${part}`
      })
  }

  #expression(text: string, path: readonly (string | number)[]): string {
    const made = text.replace(/'[^'\\]*'|"[^"\\]*"/g, quoted => {
      const word = this.#words.find(({ value }) => value === quoted.slice(1, -1))
      if (word === undefined) return quoted
      this.used.add(word.name)
      return `params.${word.name}`
    })
    return this.#kept(made, path)
  }

  /** Says so when a value had to stay. */
  #kept(text: string, path: readonly (string | number)[]): string {
    for (const { value, pattern } of this.#words)
      if (text.search(pattern) !== -1)
        this.notes.push(
          `'${clip(value)}' stays in ${path.join('.')}: nothing is put into a script or inside an expression`,
        )
    return text
  }
}

/** Keys whose texts are names of tasks. */
const NAMES: ReadonlySet<string> = new Set(['id', 'needs', 'on', 'recover'])

function wholeWord(value: string): RegExp {
  const escaped = value.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
  const [first, last] = [/^[\p{L}\p{N}_]/u.test(value), /[\p{L}\p{N}_]$/u.test(value)]
  return new RegExp(
    `${first ? String.raw`(?<![\p{L}\p{N}_])` : ''}${escaped}${last ? String.raw`(?![\p{L}\p{N}_])` : ''}`,
    'u',
  )
}

function declared(parameters: Given): JsonObject {
  return Object.fromEntries(
    parameters.map(([name, value]) => [
      name,
      {
        type: /[\n\r\u2028\u2029]/.test(value) || value.length > 1_000 ? 'text' : 'string',
        required: true,
        about: `stood for ${clip(value.split('\n')[0]!) || 'a text'}`,
        example: value,
      },
    ]),
  )
}

function faultOf(name: string, parameters: Given): { readonly message: string; readonly hint: string } | null {
  if (!isTemplateName(name))
    return {
      message: `'${clip(name)}' cannot be the name of a template`,
      hint: 'use lowercase letters and digits, with - allowed inside, at most 50',
    }
  const names = parameters.map(([parameter]) => parameter)
  const twice = names.find((parameter, index) => names.indexOf(parameter) !== index)
  if (twice !== undefined) return { message: `the parameter '${twice}' is given twice`, hint: 'give each name once' }
  const empty = parameters.find(([, value]) => value.trim() === '')
  if (empty !== undefined)
    return { message: `the value of '${empty[0]}' is empty`, hint: 'give the text that stands in the plan' }
  return null
}

/** As YAML, laid out as people write it. */
function printTemplate(template: JsonObject): string {
  return yamlText(template, ({ contents }) => {
    const pairs = isYamlMap(contents) ? (contents as YAMLMap<Node, Node>).items : []
    for (const { key, value } of pairs) {
      if (!['parameters', 'plan'].includes(String(key))) continue
      key.spaceBefore = true
      if (String(key) === 'plan' && isYamlMap(value)) spaceItems(value.get('tasks', true))
    }
  })
}
