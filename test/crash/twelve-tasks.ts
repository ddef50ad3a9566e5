// The plan that is killed everywhere: twelve tasks, every effect class, and everything that can happen on the way: outputs that
// feed inputs, a transient failure that is retried, a condition that skips, a decision, a gate. Nothing it writes depends on
// when or how often it was run, so every run must leave the same files. Tasks that say what they write are held, with the network of this
// machine, on which the recorder listens; the others run as the person.

import type { Recorder } from './harness.ts'

export const FILES = {
  'src/app.txt': 'version = 1\nname = app\n',
  'data/log.txt': 'begin\n',
  'notes/untouched.md': 'leave me\n',
}

/** What each class allows the recorder to have seen. */
export const ALLOWED: Readonly<Record<string, 'again' | 'same key' | 'once' | 'never'>> = {
  seed: 'again',
  look: 'again',
  append: 'again',
  push: 'same key',
  mail: 'once',
  think: 'again',
  ship: 'once',
  late: 'never',
  collect: 'again',
}

/** One after the other, every run makes the same commits in the same order; side by side, they interleave anew each time. */
export function twelveTasks(recorder: Recorder, concurrency: number): string {
  const bash = (text: string) => JSON.stringify(['bash', '-euc', text])
  const effect = (task: string) => recorder.effect(task)
  return `
planfold: 1
name: twelve
concurrency: ${concurrency}
# Nobody edits here. On a machine that starves us, late writes of a dead process would look like a person's.
recovery: { edits: set-back }
tasks:
  - id: seed
    write: [data/seed.json]
    effect: workspace
    run: ${bash(`${effect('seed')}; printf '{"n": 7}' > data/seed.json`)}
    outputs: { seed: { file: data/seed.json } }
  - id: look
    needs: [seed]
    effect: pure
    run: ${bash(`${effect('look')}; wc -l < src/app.txt`)}
    outputs: { lines: { stdout: json } }
  - id: append
    needs: [seed]
    write: [data/log.txt, "made/**"]
    effect: workspace
    run: ${bash(`echo half >> data/log.txt; mkdir -p made; ${effect('append')}; echo whole >> data/log.txt; echo x >> made/x.txt`)}
  - id: change
    needs: [seed]
    edit:
      - { file: src/app.txt, find: "version = 1", replace: "version = \${{ tasks.seed.outputs.seed.n }}" }
      - { file: src/new.txt, create: "made by an edit\\n" }
  - id: push
    needs: [seed]
    effect: idempotent
    retry: { attempts: 3, backoff: 1ms..2ms }
    run: ${bash(`[ "$PLANFOLD_ATTEMPT" != 1 ] || exit 75; ${effect('push')}`)}
  - id: mail
    needs: [look, append]
    effect: probed
    probe: ${bash(recorder.probe())}
    run: ${bash(effect('mail'))}
  - id: think
    needs: [change]
    effect: model
    run: ${bash(`${effect('think')}; echo a thought`)}
    outputs: { thought: stdout }
  - id: ship
    needs: [push, think]
    run: ${bash(effect('ship'))}
  - id: late
    needs: [look]
    when: tasks.look.outputs.lines > 100
    effect: pure
    run: ${bash(effect('late'))}
  - id: choose
    needs: [look]
    decide: "tasks.look.outputs.lines > 1 ? 'many' : 'few'"
    on: { many: collect, few: collect }
  - id: review
    needs: [ship, mail, late]
    gate: approval
  - id: collect
    needs: [review, choose]
    write: [data/collected.txt]
    effect: workspace
    inputs: { thought: "\${{ tasks.think.outputs.thought }}", n: "\${{ tasks.seed.outputs.seed.n }}" }
    run: ${bash(`${effect('collect')}; printf '%s\\n' "$PLANFOLD_INPUTS" >> data/collected.txt`)}
done:
  - check: [test, -s, data/collected.txt]
  - expect: tasks.seed.outputs.seed.n == 7
`
}
