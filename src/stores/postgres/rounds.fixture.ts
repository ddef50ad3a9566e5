// How often each operation of a store had to load rows: for a table at the end of the contract suite.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { StorePostgres } from './store-postgres.ts'

const operation = new AsyncLocalStorage<string>()
const rounds = new Map<string, number[]>()

export function counted(): (rounds: number) => void {
  const name = operation.getStore() ?? 'others'
  return number => void rounds.set(name, [...(rounds.get(name) ?? []), number])
}

/** The same store; every call of a method knows its name. */
export function named<T extends StorePostgres>(store: T, prefix = ''): T {
  return new Proxy(store, {
    get(target, key) {
      const found = Reflect.get(target, key, target) as unknown
      if (typeof key === 'symbol' || key === 'blobs' || key === 'transactions') return found
      if (typeof found === 'object' && found !== null && prefix === '') return named(found as T, `${key}.`)
      if (typeof found !== 'function') return found
      return (...args: unknown[]) =>
        operation.run(operation.getStore() ?? `${prefix}${key}`, () => Reflect.apply(found, target, args))
    },
  })
}

export function roundsTable(): string {
  const lines = [...rounds].map(([name, all]) => {
    const mean = all.reduce((sum, one) => sum + one, 0) / all.length
    return {
      name,
      most: Math.max(...all),
      text: `${name.padEnd(24)}${String(Math.max(...all)).padStart(4)}${mean.toFixed(2).padStart(7)}`,
    }
  })
  lines.sort((a, b) => b.most - a.most || a.name.localeCompare(b.name))
  return ['rounds of loading         max   mean', ...lines.map(({ text }) => text)].join('\n')
}

export const roundsMost = (): number => Math.max(0, ...[...rounds.values()].flat())
