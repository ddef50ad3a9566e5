// Plans in one line each: `plan('p', task('a'), task('b', { needs: ['a'] }))`.

import { isPlanName, isTaskName, type PlanName, type TaskName } from '../domain/id.ts'
import type { Action, PlanDefinition, TaskDefinition } from '../domain/plan.ts'

export type TaskOptions = Omit<TaskDefinition, 'id' | 'needs' | 'on' | 'action'> & {
  readonly action?: Action
  readonly needs?: readonly string[]
  readonly on?: Readonly<Record<string, string | readonly string[]>>
}
export type PlanOptions = Omit<PlanDefinition, 'name' | 'tasks'>

export function plan(name: string, ...parts: readonly (TaskDefinition | PlanOptions)[]): PlanDefinition {
  if (!isPlanName(name)) throw new Error(`'${name}' is no plan name`)
  const tasks = parts.filter(part => 'id' in part && 'action' in part)
  const options = parts.filter(part => !('id' in part && 'action' in part))
  return { ...Object.assign({}, ...options), name: name as PlanName, tasks: tasks as readonly TaskDefinition[] }
}

/** A task; by default it runs `true`, and nobody knows what that does: effect class `unsafe`. */
export function task(id: string, { action, needs, on, ...options }: TaskOptions = {}): TaskDefinition {
  return {
    id: name(id),
    ...options,
    action: action ?? { type: 'run', command: { argv: ['true'] } },
    needs: needs === undefined ? undefined : needs.map(name),
    on:
      on === undefined
        ? undefined
        : Object.fromEntries(Object.entries(on).map(([outcome, to]) => [outcome, [to].flat().map(name)])),
  }
}

export const gate = (id: string, options: TaskOptions = {}): TaskDefinition =>
  task(id, { ...options, action: { type: 'gate', gate: 'approval' } })

export const external = (id: string, options: TaskOptions = {}): TaskDefinition =>
  task(id, { ...options, action: { type: 'external' } })

export const decision = (id: string, options: TaskOptions = {}): TaskDefinition =>
  task(id, { ...options, action: { type: 'decide', expression: "'success'" } })

export const edit = (id: string, file: string, options: TaskOptions = {}): TaskDefinition =>
  task(id, { ...options, action: { type: 'edit', edits: [{ type: 'create', file, content: id }] } })

export function name(text: string): TaskName {
  if (!isTaskName(text)) throw new Error(`'${text}' is no task name`)
  return text
}
