// Evaluates the syntax tree of cel-js. Its own evaluator cannot be metered and does not allow replacing built-ins. Here every
// node costs a step, only own properties are read, and the functions are a closed list.

import type { ASTNode } from '@marcbachmann/cel-js'
import { clip } from '../text/diagnostic.ts'
import { FUNCTIONS, METHODS } from './functions.ts'
import type { Meter } from './meter.ts'
import { BINARY_OPERATORS, type BinaryOperator, binary, negate } from './operators.ts'
import { ExpressionError, fromJson, isList, isMap, typeName, type Value } from './value.ts'

/** Looks up names: macro variables from the inside out, then the context. */
export type Scope = (name: string) => Value | undefined

export function run(node: ASTNode, scope: Scope, meter: Meter): Value {
  meter.spend(1)
  switch (node.op) {
    case 'value':
      return literal(node.args)
    case 'id':
      return variable(node.args, scope)
    case '.':
      return field(run(node.args[0], scope, meter), node.args[1])
    case '[]':
      return element(run(node.args[0], scope, meter), run(node.args[1], scope, meter))
    case 'list':
      return meter.list(node.args.map(item => run(item, scope, meter)))
    case 'map':
      return mapLiteral(node.args, scope, meter)
    case '?:':
      return truth(run(node.args[0], scope, meter), '?:')
        ? run(node.args[1], scope, meter)
        : run(node.args[2], scope, meter)
    case '||':
      return either(node.args, true, scope, meter)
    case '&&':
      return either(node.args, false, scope, meter)
    case '!_':
      return !truth(run(node.args, scope, meter), '!')
    case '-_':
      return negate(run(node.args, scope, meter))
    case 'call':
      return call(node.args[0], node.args[1], scope, meter)
    case 'rcall':
      return method(node.args[0], node.args[1], node.args[2], scope, meter)
    default:
      if (!BINARY_OPERATORS.has(node.op)) throw new ExpressionError(`'${node.op}' is not supported`)
      return binary(
        node.op as BinaryOperator,
        run((node.args as [ASTNode, ASTNode])[0], scope, meter),
        run((node.args as [ASTNode, ASTNode])[1], scope, meter),
        meter,
      )
  }
}

function literal(value: unknown): Value {
  if (value === null || ['string', 'number', 'bigint', 'boolean'].includes(typeof value)) return value as Value
  throw new ExpressionError('byte strings and unsigned numbers are not supported')
}

function variable(name: string, scope: Scope): Value {
  const value = scope(name)
  if (value === undefined) throw new ExpressionError(`'${name}' has no value here`)
  return value
}

function field(object: Value, name: string): Value {
  if (isMap(object)) {
    if (Object.hasOwn(object, name)) return fromJson(object[name])
    const known = Object.keys(object).slice(0, 10).map(clip).join(', ')
    throw new ExpressionError(
      `there is no '${clip(name)}'`,
      known === '' ? 'the map is empty' : `there is ${known}; has(…) asks first`,
    )
  }
  throw new ExpressionError(`a ${typeName(object)} has no '${clip(name)}'`)
}

function element(collection: Value, key: Value): Value {
  if (!isList(collection)) return field(collection, String(key))
  const position = typeof key === 'bigint' ? Number(key) : Number.NaN
  if (!(position >= 0 && position < collection.length)) {
    throw new ExpressionError(
      `the list has no element ${clip(String(key))}`,
      `it has ${collection.length}, counted from 0`,
    )
  }
  return fromJson(collection[position])
}

const RESERVED: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

function mapLiteral(entries: readonly (readonly [ASTNode, ASTNode])[], scope: Scope, meter: Meter): Value {
  const map: { [key: string]: Value } = Object.create(null)
  for (const [keyNode, valueNode] of entries) {
    const key = run(keyNode, scope, meter)
    if (typeof key === 'object') throw new ExpressionError(`a ${typeName(key)} cannot be the key of a map`)
    if (RESERVED.has(String(key))) throw new ExpressionError(`'${String(key)}' cannot be the key of a map`)
    map[String(key)] = run(valueNode, scope, meter)
  }
  return map
}

/** CEL's `&&` and `||`: one decisive side is enough, even if the other one fails. */
function either([left, right]: readonly [ASTNode, ASTNode], decisive: boolean, scope: Scope, meter: Meter): boolean {
  const sign = decisive ? '||' : '&&'
  let failed: ExpressionError
  try {
    if (truth(run(left, scope, meter), sign) === decisive) return decisive
    return truth(run(right, scope, meter), sign)
  } catch (error) {
    if (!(error instanceof ExpressionError) || error.exhausted) throw error
    failed = error
  }
  let other: Value
  try {
    other = run(right, scope, meter)
  } catch (error) {
    if (error instanceof ExpressionError && !error.exhausted) throw failed
    throw error
  }
  if (other === decisive) return decisive
  throw failed
}

function truth(value: Value, sign: string): boolean {
  if (typeof value === 'boolean') return value
  throw new ExpressionError(
    `'${sign}' wants true or false, not a ${typeName(value)}`,
    'compare it with something, for instance x != 0',
  )
}

function call(name: string, args: readonly ASTNode[], scope: Scope, meter: Meter): Value {
  if (name === 'has') return has(args[0], scope, meter)
  const known = FUNCTIONS.get(name)
  if (!known?.arity.includes(args.length)) throw new ExpressionError(`there is no function ${name}()`)
  // A missing field, such as an output of a skipped task, is quoted as empty.
  const isAbsent = (argument: ASTNode): boolean =>
    name === 'quote' && argument.op === '.' && !has(argument, scope, meter)
  return known.apply(
    args.map(argument => (isAbsent(argument) ? null : run(argument, scope, meter))),
    meter,
  )
}

/** `has(a.b)`: does the last part exist? The parts before it must. */
function has(argument: ASTNode | undefined, scope: Scope, meter: Meter): boolean {
  if (argument?.op !== '.') throw new ExpressionError('has() wants a field, for instance has(outputs.total)')
  const object = run(argument.args[0], scope, meter)
  return isMap(object) && Object.hasOwn(object, argument.args[1])
}

function method(name: string, receiver: ASTNode, args: readonly ASTNode[], scope: Scope, meter: Meter): Value {
  const macro = MACRO_BODIES[name]
  if (macro !== undefined && args[0]?.op === 'id') {
    return macro(items(run(receiver, scope, meter)), args[0].args, args.slice(1), scope, meter)
  }
  const known = METHODS.get(name)
  if (!known?.arity.includes(args.length)) throw new ExpressionError(`there is no function .${name}()`)
  return known.apply(
    [receiver, ...args].map(argument => run(argument, scope, meter)),
    meter,
  )
}

type MacroBody = (
  items: readonly unknown[],
  name: string,
  args: readonly ASTNode[],
  scope: Scope,
  meter: Meter,
) => Value

const MACRO_BODIES: { readonly [name: string]: MacroBody } = {
  __proto__: null as never,
  all: (list, name, [test], scope, meter) => list.every(item => holds(test!, item, name, scope, meter)),
  exists: (list, name, [test], scope, meter) => list.some(item => holds(test!, item, name, scope, meter)),
  exists_one: (list, name, [test], scope, meter) =>
    list.filter(item => holds(test!, item, name, scope, meter)).length === 1,
  filter: (list, name, [test], scope, meter) => meter.list(list.filter(item => holds(test!, item, name, scope, meter))),
  map: (list, name, args, scope, meter) => {
    const test = args.length === 2 ? args[0]! : null
    const body = args[args.length - 1]!
    const kept = test === null ? list : list.filter(item => holds(test, item, name, scope, meter))
    return meter.list(kept.map(item => run(body, bind(scope, name, item), meter)))
  },
}

function holds(test: ASTNode, item: unknown, name: string, scope: Scope, meter: Meter): boolean {
  return truth(run(test, bind(scope, name, item), meter), 'the test')
}

function bind(scope: Scope, name: string, item: unknown): Scope {
  return other => (other === name ? fromJson(item) : scope(other))
}

/** The items a macro iterates over: list elements or map keys. */
function items(collection: Value): readonly unknown[] {
  if (isList(collection)) return collection
  if (isMap(collection)) return Object.keys(collection)
  throw new ExpressionError(`a ${typeName(collection)} has no elements to go over`)
}
