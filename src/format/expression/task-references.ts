// Finds task names in an expression, `tasks.x` or `tasks['x']`, and renames them. Strings with the same text and variables called
// `tasks` stay as they are.

import type { ASTNode } from '@marcbachmann/cel-js'
import { compile } from './expression.ts'
import { MACROS } from './functions.ts'

/** Renames the tasks in an expression. One with an error is returned unchanged. */
export function renameInExpression(source: string, rename: (name: string) => string): string {
  if (!source.includes('tasks')) return source
  const compilation = compile(source)
  if (!compilation.ok) return source
  const places: Occurrence[] = []
  collect(compilation.compiled.ast, new Set(), places)
  let text = source
  for (const { start, end, name } of places.sort((a, b) => b.start - a.start)) {
    const renamed = rename(name)
    if (renamed !== name) text = `${text.slice(0, start)}${reference(renamed)}${text.slice(end)}`
  }
  return text
}

interface Occurrence {
  readonly start: number
  readonly end: number
  readonly name: string
}

/** Names with a hyphen, slash or dot need brackets, or they would parse as operators or fields. */
function reference(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? `tasks.${name}` : `tasks['${name}']`
}

function collect(node: ASTNode, bound: ReadonlySet<string>, places: Occurrence[]): void {
  if (node.op === '.' || node.op === '[]') {
    const [object, key] = node.args
    const name = typeof key === 'string' ? key : key.op === 'value' ? key.args : null
    if (object.op === 'id' && object.args === 'tasks' && !bound.has('tasks') && typeof name === 'string') {
      places.push({ start: node.start, end: node.end, name })
      return
    }
  }
  if (node.op === 'rcall') {
    const [method, receiver, args] = node.args
    const variable = MACROS.get(method)?.includes(args.length) === true && args[0]?.op === 'id' ? args[0].args : null
    collect(receiver, bound, places)
    const inside = variable === null ? bound : new Set([...bound, variable])
    for (const one of variable === null ? args : args.slice(1)) collect(one, inside, places)
    return
  }
  for (const child of children(node.args)) collect(child, bound, places)
}

export function* children(args: unknown): Generator<ASTNode> {
  if (Array.isArray(args)) for (const one of args) yield* children(one)
  else if (args !== null && typeof args === 'object' && 'op' in args) yield args as ASTNode
}
