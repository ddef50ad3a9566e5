// What can be wrong with the plan of a template before any value is known: substitutions that cannot be read, names nobody
// declared, conditions and loops in the wrong form, and parameters where they would become code.

import type { Json, JsonObject } from '../../domain/json.ts'
import type { Complaint, Path } from '../diagnostic.ts'
import { VARIABLES } from '../expression.ts'
import { controlOf, isControlled, isMap } from './control.ts'
import type { Parameter } from './parameters.ts'
import { asString, inside, itemPlaces, type Place } from './place.ts'
import { OPEN, split, substitutionIn } from './substitution.ts'
import { compileWords, PARAMS, parametersOf } from './words.ts'

const LOOP_NAME = /^[a-z_][a-z0-9_]{0,49}$/i
const FAULTS_MAX = 100

export interface Reviewed {
  readonly faults: readonly Complaint[]
  /** The parameters that are named somewhere. */
  readonly used: ReadonlySet<string>
}

export function reviewPlan(plan: JsonObject, parameters: readonly Parameter[]): Reviewed {
  const reviewer = new Reviewer(parameters)
  reviewer.review(plan, ['plan'], 'plan', [])
  return reviewer
}

class Reviewer implements Reviewed {
  readonly faults: Complaint[] = []
  readonly used = new Set<string>()
  readonly #parameters: readonly Parameter[]
  readonly #known: readonly string[]

  constructor(parameters: readonly Parameter[]) {
    this.#parameters = parameters
    this.#known = parameters.map(({ name }) => name)
  }

  /** `names` are those of the loops around. */
  review(value: Json, path: Path, place: Place, names: readonly string[]): void {
    if (this.faults.length >= FAULTS_MAX) return
    if (typeof value === 'string') this.#string(value, path, place, names)
    else if (Array.isArray(value)) this.#list(value, path, place, names)
    else if (isMap(value)) this.#map(value, path, place, names)
  }

  #map(map: JsonObject, path: Path, place: Place, names: readonly string[]): void {
    for (const [key, value] of Object.entries(map)) {
      if (split(key).ok && key.includes(OPEN))
        this.#fault(
          [...path, key],
          `the key '${key}' holds a substitution`,
          'a parameter is a value, never a key',
          true,
        )
      this.review(value, [...path, key], inside(place, key), names)
    }
  }

  #list(list: readonly Json[], path: Path, place: Place, names: readonly string[]): void {
    const placeOf = itemPlaces(place, list)
    for (const [index, item] of list.entries()) this.#item(item, [...path, index], placeOf(index), names)
  }

  #item(item: Json, path: Path, place: Place, names: readonly string[]): void {
    if (isControlled(item)) this.#controlled(item, path, place, names)
    else this.review(item, path, place, names)
  }

  #controlled(item: JsonObject, path: Path, place: Place, names: readonly string[]): void {
    const control = controlOf(item)
    let within = names
    if (control.each !== undefined) {
      this.#expression(control.each, [...path, 'each'], names)
      const name = control.as
      const taken = [PARAMS, ...VARIABLES, ...names]
      if (typeof name !== 'string' || !LOOP_NAME.test(name) || !compileWords(name, [name], this.#known).ok)
        this.#fault(
          [...path, 'as'],
          "'each' needs a name for its items",
          'write one word beside it, for instance as: file',
        )
      else if (taken.includes(name) || taken.includes(`${name}_number`))
        this.#fault([...path, 'as'], `'${name}' already means something here`, 'choose another word')
      else within = [...names, name, `${name}_number`]
    } else if (Object.hasOwn(item, 'as'))
      this.#fault([...path, 'as'], "'as' only makes sense beside 'each'", "add 'each:', or remove 'as:'", true)
    if (control.if !== undefined && typeof control.if !== 'boolean')
      this.#expression(control.if, [...path, 'if'], within)
    for (const { value, path: inner, inList } of control.values) {
      if (inList) this.#item(value, [...path, ...inner], place, within)
      else this.review(value, [...path, ...inner], place, within)
    }
  }

  /** The bare expression of an `if` or an `each`. */
  #expression(source: Json, path: Path, names: readonly string[]): void {
    const key = String(path.at(-1))
    if (typeof source !== 'string') {
      this.#fault(
        path,
        `'${key}' wants an expression`,
        `write it as text, for instance ${key}: params.${key === 'if' ? 'with_tests' : 'files'}`,
      )
      return
    }
    if (source.includes(OPEN)) {
      this.#fault(path, `'${key}' is an expression already`, 'write it without << >>')
      return
    }
    this.#compile(source, source, 0, path, names)
  }

  #string(text: string, path: Path, place: Place, names: readonly string[]): void {
    if (!text.includes(OPEN)) return
    const as = asString(place)
    if (as === 'script' && !this.#isCommand(text)) {
      const found = substitutionIn(text, [PARAMS, ...names])
      if (found !== null)
        this.faults.push({
          path,
          message: `${found} would be spliced into a script`,
          hint: ENVIRONMENT,
          within: { text: found, offset: 0 },
        })
      return
    }
    const pieces = split(text)
    if (!pieces.ok) {
      const { message, hint, position } = pieces
      this.faults.push({ path, message, hint, within: { text: text.slice(position).split('\n')[0]!, offset: 0 } })
      return
    }
    for (const piece of pieces.pieces)
      if (piece.type === 'value') this.#compile(piece.source, piece.source, 0, path, names)
  }

  /** A command may be a parameter as a whole, when that is a list: then it is argv, and no shell reads it. */
  #isCommand(text: string): boolean {
    const name = /^<<\s*params\.(\w+)\s*>>$/.exec(text)?.[1]
    return this.#parameters.some(parameter => parameter.name === name && parameter.type === 'list')
  }

  #compile(source: string, within: string, offset: number, path: Path, names: readonly string[]): void {
    const compilation = compileWords(source, names, this.#known)
    if (compilation.ok) {
      for (const { name } of parametersOf(compilation.compiled.ast)) this.used.add(name)
      return
    }
    const { message, hint, position } = compilation
    this.faults.push({
      path,
      message,
      ...(hint === undefined ? {} : { hint }),
      within: { text: within, offset: offset + position },
    })
  }

  #fault(path: Path, message: string, hint: string, atKey = false): void {
    this.faults.push({ path, message, hint, atKey })
  }
}

const ENVIRONMENT =
  'hand it over beside the script: env: { VALUE: << params.x >> } and "$VALUE" in the script, or write the command as a list'
