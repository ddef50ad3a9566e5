// Real plans for looking at the page: one with everything a page can show, one that ended, one that failed, and one of a thousand tasks.

export const HOSTILE = '<img src=x onerror=alert(1)><script>alert(2)</script>'

export const FILES: { readonly [path: string]: string } = {
  'src/cart.mjs': `import { total } from './money.mjs'

export function cart(items) {
  const sum = total(items.map(({ price, count }) => price * count))
  return { items, sum }
}
`,
  'src/money.mjs': `// Amounts are whole cents.
export const total = amounts => amounts.reduce((sum, one) => sum + one, 0)
export const shown = cents => (cents / 100).toFixed(2)
`,
  'src/report.mjs': `import { total, shown } from './money.mjs'
export const report = orders => shown(total(orders.map(({ sum }) => sum)))
`,
}

/** Runs up to a gate, with one task still at work, one that is tried again, questions, a decision and a group. */
export const SHOP = `planfold: 1
name: rename-total
title: total becomes sumOf in the whole shop
goal: Rename the function total to sumOf everywhere, without breaking a caller
policy: { write: [src/**, notes/**] }
tasks:
  - id: read-code
    title: Find every caller of total
    effect: pure
    run: [grep, -rn, total, src]
  - id: measure
    title: What the shop costs to start
    effect: pure
    run: [node, -e, "console.log('started in', 41, 'ms')"]
  - id: money
    title: The function itself
    needs: read-code
    edit: { file: src/money.mjs, find: "export const total =", replace: "export const sumOf =" }
    accept:
      - { check: [grep, -q, sumOf, src/money.mjs], text: The new name is there }
      - { check: [node, --check, src/money.mjs], text: It still parses }
  - id: callers
    title: Everything that calls it
    needs: read-code
    edit:
      - { file: src/cart.mjs, find: "import { total }", replace: "import { sumOf }" }
      - { file: src/cart.mjs, find: "total(items", replace: "sumOf(items" }
      - { file: src/report.mjs, find: "total, shown", replace: "sumOf, shown" }
      - { file: src/report.mjs, find: "total(orders", replace: "sumOf(orders" }
  - id: notes
    title: Say so in the notes
    needs: money
    edit: { file: notes/changes.md, create: "# Changes\\n\\n- total is called sumOf\\n" }
  - id: test
    title: All tests of the shop
    needs: [money, callers]
    effect: pure
    run: [node, -e, "for (const at of [1, 2, 3]) console.log('ok', at, '- callers use sumOf'); console.log('3 passed')"]
  - id: watch
    title: Try it under load for a while
    needs: test
    effect: pure
    run: [node, -e, "let at = 0; console.log('warm up'); setInterval(() => console.log('request', ++at, 'in', 3 + at % 5, 'ms'), 900)"]
  - id: flaky
    title: Ask the staging shop
    needs: measure
    effect: pure
    run: [node, -e, "console.error('connect ECONNREFUSED 10.0.0.7:443'); process.exit(1)"]
    failure_modes: [{ name: away, class: transient, detect: { expect: "stderr.contains('ECONNREFUSED')" } }]
    retry: { attempts: 9, backoff: 10m..10m }
  - id: look
    title: Does the new name read well?
    needs: [test, notes]
    gate: { type: approval, show: [diff] }
  - id: store
    title: Where do the numbers go?
    needs: measure
    gate:
      type: decision
      options:
        - { id: sqlite, title: A file beside the shop, pros: [nothing to run], cons: [one writer] }
        - { id: postgres, title: A server of its own, pros: [many writers], cons: [somebody keeps it running] }
  - id: place
    title: Where is the staging shop?
    needs: measure
    gate:
      type: question
      question: Where is the staging shop, and may it be loaded?
      form:
        - { name: host, type: text, label: Host }
        - { name: port, type: number, default: 443, label: Port }
        - { name: load, type: boolean, label: It may be put under load }
        - { name: stage, type: choice, choices: [blue, green], label: Stage }
  - id: publish
    title: Tell everybody
    needs: [look, watch]
    run: [echo, "total is sumOf now"]
    effect: pure
  - id: migrate
    title: Move the numbers
    needs: [store, place]
    subplan:
      - { id: dump, run: [echo, dump], effect: pure }
      - { id: load, needs: dump, run: [echo, load], effect: pure }
      - { id: compare, needs: load, run: [echo, same], effect: pure }
  - id: release
    title: Put it on the shelf
    needs: [publish, migrate, flaky]
    run: [echo, released]
    effect: pure
`

export const DONE = `planfold: 1
name: tidy-notes
title: Notes in one place
policy: { write: [notes/**] }
tasks:
  - id: first
    title: Begin the notes
    edit: { file: notes/today.md, create: "# Today\\n\\n- began\\n" }
  - id: second
    title: Add what was done
    needs: first
    edit: { file: notes/today.md, find: "- began", replace: "- began\\n- went on" }
  - id: third
    title: And the end
    needs: second
    edit: { file: notes/today.md, find: "- went on", replace: "- went on\\n- ended" }
`

export const FAILED = `planfold: 1
name: nightly-build
title: Build and check the night's work
tasks:
  - id: fetch
    title: Get what is new
    run: [echo, fetched]
    effect: pure
  - id: compile
    title: Compile everything
    needs: fetch
    effect: pure
    run: [node, -e, "console.log('compiling 48 files'); console.error('src/money.mjs:2: total is not defined'); process.exit(2)"]
  - id: publish
    title: Put it where people find it
    needs: compile
    run: [echo, published]
    effect: pure
`

export const NASTY = `planfold: 1
name: nasty
title: ${JSON.stringify(HOSTILE)}
goal: ${JSON.stringify(`![x](http://example.com/x.png) [a](javascript:alert(3)) ${HOSTILE}`)}
tasks:
  - id: words
    title: ${JSON.stringify('<svg onload=alert(4)><foreignObject><iframe src=http://example.com></iframe></foreignObject></svg>')}
    description: ${JSON.stringify('```mermaid\ngraph TD; A[<img src=x onerror=alert(5)>]-->B; click A "javascript:alert(6)"\n```')}
    run: [echo, ${JSON.stringify(HOSTILE)}]
    effect: pure
  - id: ask
    title: ${JSON.stringify(HOSTILE)}
    needs: words
    gate: approval
  - id: after
    needs: ask
    run: [echo, ${JSON.stringify(HOSTILE)}]
    effect: pure
`

/** Layers of tasks, each led to by one of the layer before; all but the last are expressions, so that the engine is as quick as it can be. */
export function large(tasks: number, { wide = 25, name = 'large' } = {}): string {
  const lines = Array.from({ length: tasks }, (_, at) =>
    at + wide < tasks
      ? `  - { id: t${at}, title: Number ${at}, decide: "'next'", on: { next: t${at + wide} } }`
      : `  - { id: t${at}, title: Number ${at}, run: ["true"], effect: pure }`,
  )
  return `planfold: 1\nname: ${name}\ntitle: A thousand tasks\nconcurrency: 64\ntasks:\n${lines.join('\n')}\n`
}

/** Prints what tools print for a terminal, a progress bar, links of both kinds, and what only somebody hostile prints. */
const PRINTS = `
const say = text => process.stdout.write(text + '\\n')
for (let at = 1; at <= 5000; at++) say(at % 50 === 0 ? '\\u001b[32mok ' + at + '\\u001b[0m' : 'line ' + at)
say('\\u001b[31mnot ok\\u001b[0m 7 \\u001b[1mtotal\\u001b[0m \\u001b[33mwarning\\u001b[0m \\u001b[44m info \\u001b[0m \\u001b[38;5;201mpink\\u001b[0m')
for (let at = 1; at <= 100; at++) process.stdout.write('progress ' + at + '%\\r')
say('')
say('\\u001b]8;;https://example.com/report\\u001b\\\\the report\\u001b]8;;\\u001b\\\\ and \\u001b]8;;javascript:alert(1)\\u001b\\\\not this\\u001b]8;;\\u001b\\\\')
say('\\u001b[2J\\u001b[H\\u001b]52;c;aGk=\\u0007\\u001b]0;title\\u0007still here')
say('x'.repeat(1e6))
`
export const PRINTED = `planfold: 1
name: printed
title: What tools print
policy: { write: [] }
tasks:
  - id: prints
    title: Five thousand lines
    run: [node, -e, ${JSON.stringify(PRINTS)}]
    effect: pure
  - id: fails
    title: Fails twice
    needs: prints
    effect: pure
    retry: 2
    run: [node, -e, ${JSON.stringify("console.log('trying'); console.error('\\u001b]8;;https://example.com/e7\\u001b\\\\error E7\\u001b]8;;\\u001b\\\\: \\u001b[31mtotal\\u001b[0m is 3\\rerror E7: \\u001b[31mtotal\\u001b[0m is 4'); process.exit(1)")}]
`
