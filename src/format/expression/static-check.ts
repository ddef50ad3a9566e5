// Static checks of expressions: unknown names and functions, the tasks it refers to, and `tasks.retry-core`, which parses as a
// subtraction.

import type { ASTNode } from '@marcbachmann/cel-js'
import { suggest } from '../../domain/phrases.ts'
import { WORK_FIELDS } from '../../domain/plan-rules/judge.ts'
import { FUNCTIONS, MACROS, METHODS } from './functions.ts'

/** The variables; each is bound only in some places, e.g. `exit` after an attempt. */
export const VARIABLES = [
  'tasks',
  'plan',
  'inputs',
  'exit',
  'stdout',
  'stderr',
  'outputs',
  // After http and db tasks: short for outputs.status, outputs.rows, outputs.changes.
  'status',
  'rows',
  'changes',
  'visit',
  'attempt',
  // Feedback from the reviewer who sent the task back; empty without one.
  'feedback',
  // In tasks of `for_each` or `matrix`.
  'item',
  'index',
  'matrix',
  // In `detect` of a failure mode.
  'error',
  'failure_class',
  // In headers and body of a request.
  'secrets',
  // For a judge: the work of the task that it judges.
  'work',
  // In preconditions.
  'memory',
  'network',
] as const
export type Variable = (typeof VARIABLES)[number]

/** The fields of another task, and of the plan. */
export const TASK_FIELDS = ['outputs', 'exit', 'status', 'outcome', 'error', 'visit', 'attempt'] as const
export const PLAN_FIELDS = ['id', 'name', 'title', 'goal', 'revision'] as const

export interface References {
  /** Tasks referred to by `tasks.x` or `tasks['x']`, in order, without duplicates. */
  readonly tasks: readonly string[]
  /** True if `tasks` is also used dynamically, e.g. `tasks[inputs.name]`. */
  readonly dynamic: boolean
  readonly variables: readonly Variable[]
  /** The keys of `memory['x']`; null without `memory`. */
  readonly memory: readonly string[] | null
}

export interface Fault {
  readonly message: string
  /** Offset in the source. */
  readonly position: number
  readonly hint?: string
}

/** `also`: additional variables. */
export function review(
  ast: ASTNode,
  source: string,
  also: readonly string[] = [],
): { readonly references: References } | { readonly fault: Fault } {
  const tasks = new Set<string>()
  const variables = new Set<Variable>()
  const memory = new Set<string>()
  let dynamic = false

  function visit(node: ASTNode, bound: ReadonlySet<string>): Fault | null {
    switch (node.op) {
      case 'value':
        return typeof node.args === 'object' && node.args !== null
          ? { message: 'byte strings and unsigned numbers are not supported', position: node.start }
          : null
      case 'id':
        if (bound.has(node.args)) return null
        if (!isVariable(node.args)) return unknownName(node.args, node.start, bound)
        variables.add(node.args)
        if (node.args === 'tasks') dynamic = true
        return null
      case '.':
      case '[]': {
        const field = unknownField(node, bound)
        if (field !== null) return field
        const name = keyOf('tasks', node, bound)
        const key = keyOf('memory', node, bound)
        if (key !== null) memory.add(key)
        if (name === null) return node.op === '.' ? visit(node.args[0], bound) : visitAll(node.args, bound)
        variables.add('tasks')
        tasks.add(name)
        // `tasks.retry-core` parses as `tasks.retry - core`; no sensible expression subtracts from a task.
        return node.op === '.' && source[node.end] === '-' ? hyphen(node.start, source) : null
      }
      case 'call':
        if (node.args[0] === 'has' && node.args[1].length === 1) {
          if (node.args[1][0]?.op === '.') return visitAll(node.args[1], bound)
          return { message: 'has() wants a field', position: node.start, hint: 'write it like has(outputs.total)' }
        }
        return (
          unknownFunction(node.args[0], node.args[1].length, FUNCTIONS, node.start, '') ?? visitAll(node.args[1], bound)
        )
      case 'rcall':
        return visitMethod(node.args[0], node.args[1], node.args[2], node.start, bound)
      case 'list':
        return visitAll(node.args, bound)
      case 'map':
        return visitAll(node.args.flat(), bound)
      case '!_':
      case '-_':
        return visit(node.args, bound)
      case '.?':
      case '[?]':
        return { message: 'optional access is not supported', position: node.start, hint: 'ask first with has(…)' }
      default:
        return visitAll(node.args, bound)
    }
  }

  function visitMethod(
    name: string,
    receiver: ASTNode,
    args: readonly ASTNode[],
    at: number,
    bound: ReadonlySet<string>,
  ): Fault | null {
    if (MACROS.get(name)?.includes(args.length) && args[0]?.op === 'id') {
      return visit(receiver, bound) ?? visitAll(args.slice(1), new Set([...bound, args[0].args]))
    }
    return unknownFunction(name, args.length, METHODS, at, '.') ?? visitAll([receiver, ...args], bound)
  }

  function visitAll(nodes: readonly ASTNode[], bound: ReadonlySet<string>): Fault | null {
    for (const node of nodes) {
      const fault = visit(node, bound)
      if (fault !== null) return fault
    }
    return null
  }

  const fault = visit(ast, new Set(also))
  if (fault !== null) return { fault }
  return {
    references: {
      tasks: [...tasks],
      dynamic,
      variables: [...variables],
      memory: variables.has('memory') ? [...memory] : null,
    },
  }
}

/** Suggests the bracket form if the source has a hyphenated name at this offset. */
export function hyphen(offset: number, source: string): Fault | null {
  const match = /^tasks\.(\w[\w.]*?(?:-+\w+)+)/.exec(source.slice(offset))
  if (match === null) return null
  return { message: `'${match[0]}' is read as a subtraction`, position: offset, hint: `write tasks['${match[1]}']` }
}

function keyOf(of: 'tasks' | 'memory', node: ASTNode, bound: ReadonlySet<string>): string | null {
  if (node.op !== '.' && node.op !== '[]') return null
  const [object, key] = node.args
  if (object.op !== 'id' || object.args !== of || bound.has(of)) return null
  if (typeof key === 'string') return key
  return key.op === 'value' && typeof key.args === 'string' ? key.args : null
}

const OWN_FIELDS: ReadonlyMap<string, readonly [string, readonly string[]]> = new Map([
  ['plan', ['the plan', PLAN_FIELDS]],
  ['work', ['the work of a task', WORK_FIELDS]],
] as const)

/** Reports unknown fields such as `tasks.a.output`. Computed fields can only be checked at run time. */
function unknownField(node: ASTNode, bound: ReadonlySet<string>): Fault | null {
  if (node.op !== '.' && node.op !== '[]') return null
  const [object, key]: readonly [ASTNode, string | ASTNode] = node.args
  const field = typeof key === 'string' ? key : key.op === 'value' && typeof key.args === 'string' ? key.args : null
  if (field === null) return null
  const own = object.op === 'id' && !bound.has(object.args) ? OWN_FIELDS.get(object.args) : undefined
  const [of, known] = own ?? (keyOf('tasks', object, bound) === null ? [null, []] : ['a task', TASK_FIELDS])
  if (of === null) return null
  if (known.includes(field)) return null
  const near = suggest(field, known)
  const named = field.length > 100 ? `${field.slice(0, 100)}…` : field
  return {
    message: `${of} has no '${named}' in expressions`,
    position: object.end,
    hint: near === null ? `there is ${known.join(', ')}` : `did you mean '${near}'?`,
  }
}

function isVariable(name: string): name is Variable {
  return (VARIABLES as readonly string[]).includes(name)
}

function unknownName(name: string, position: number, bound: ReadonlySet<string>): Fault {
  const near = suggest(name, [...VARIABLES, ...bound])
  const hint = near === null ? `there is ${VARIABLES.join(', ')}; text goes in quotes` : `did you mean '${near}'?`
  return { message: `'${name}' is not known in expressions`, position, hint }
}

function unknownFunction(
  name: string,
  count: number,
  known: ReadonlyMap<string, { readonly arity: readonly number[] }>,
  position: number,
  dot: string,
): Fault | null {
  const arity = known.get(name)?.arity
  if (arity?.includes(count)) return null
  if (arity !== undefined || MACROS.has(name)) {
    const wanted = (arity ?? MACROS.get(name) ?? []).join(' or ')
    return { message: `${dot}${name}() takes ${wanted} arguments, not ${count}`, position }
  }
  const near = suggest(name, [...known.keys(), ...(dot === '' ? ['has'] : MACROS.keys())])
  const hint = near === null ? `there is ${[...known.keys()].join(', ')}` : `did you mean '${near}'?`
  return { message: `there is no function ${dot}${name}()`, position, hint }
}
