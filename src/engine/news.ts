// What became true and is not in the journal yet. A turn takes all of it; when nobody knows whether the turn was written, it is
// said again, which is harmless: what is settled already stays settled.

import type { Settlement, Turn } from '../domain/command.ts'
import type { Preparation } from './prepare.ts'

type Told<K extends keyof Turn> = NonNullable<Turn[K]> extends readonly (infer One)[] ? One : never

export class News {
  settled: Settlement[] = []
  prepared: Preparation[] = []
  compensated: Told<'compensated'>[] = []
  committed: Told<'committed'>[] = []
  rolledBack: Turn['rolledBack'] | null = null
  proposed: Told<'proposed'>[] = []
  notices: Told<'notices'>[] = []
  /** Notices said in a turn of which nobody knows whether it was written: looked for there, since nobody is told twice. */
  unsure: Told<'notices'>[] = []

  get isNone(): boolean {
    return (
      this.settled.length === 0 &&
      this.prepared.length === 0 &&
      this.compensated.length === 0 &&
      this.committed.length === 0 &&
      this.proposed.length === 0 &&
      this.notices.length === 0 &&
      this.rolledBack === null
    )
  }

  /** As a turn of the loop tells it. */
  turn(stopping: boolean): Turn {
    const { settled, prepared, compensated, committed, rolledBack, proposed, notices } = this
    const expanded = prepared.flatMap(({ expanded }) => (expanded === undefined ? [] : [expanded]))
    const gates = prepared.flatMap(({ task, visit, gate }) => (gate === undefined ? [] : [{ task, visit, ...gate }]))
    const restored = prepared.flatMap(({ task, restored }) => (restored === null ? [] : [{ task, ...restored }]))
    return {
      type: 'turn',
      ...(settled.length === 0 ? {} : { settled }),
      ...(prepared.length === 0
        ? {}
        : { prepared: prepared.map(({ task, visit, prepared }) => ({ task, visit, prepared })) }),
      ...(expanded.length === 0 ? {} : { expanded }),
      ...(gates.length === 0 ? {} : { gates }),
      ...(restored.length === 0 ? {} : { restored }),
      ...(compensated.length === 0 ? {} : { compensated }),
      ...(committed.length === 0 ? {} : { committed }),
      ...(rolledBack == null ? {} : { rolledBack }),
      ...(proposed.length === 0 ? {} : { proposed }),
      ...(notices.length === 0 ? {} : { notices }),
      ...(stopping ? { start: false as const } : {}),
    }
  }

  /** What was taken before comes first. */
  again(taken: News): void {
    this.settled = [...taken.settled, ...this.settled]
    this.prepared = [...taken.prepared, ...this.prepared]
    this.compensated = [...taken.compensated, ...this.compensated]
    this.committed = [...taken.committed, ...this.committed]
    this.rolledBack ??= taken.rolledBack
    this.proposed = [...taken.proposed, ...this.proposed]
    this.unsure = [...taken.unsure, ...taken.notices, ...this.unsure]
  }
}
