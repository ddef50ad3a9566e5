// A plan that uses most of the format, equal in spirit to the one in docs; shared by the tests of this room.

export const EXAMPLE = `planfold: 1
name: partial-retries
title: Add partial retries to the HTTP client
goal: A failed transfer resumes from the failed part instead of starting over
done:
  - check: npm test
  - expect: tasks.baseline.outputs.report.total >= 12
  - No caller has to change
policy:
  write: ["src/**", "test/**"]
  network: ["https://git.example.com"]
  budget: { time: 30m, cost: 2 USD, attempts: 40 }
concurrency: 4
defaults: { timeout: 5m, retry: { attempts: 3, backoff: 1s..30s } }

tasks:
  - id: baseline
    title: Record what fails today
    kind: validate
    run: [npm, test]
    network: []
    expect: exit == 1
    outputs: { report: { file: test/report.json } }

  - id: retry-core
    kind: implement
    needs: [baseline]
    write: [src/client.ts]
    edit:
      - { file: src/client.ts, find: "attempt(url)", replace: "attempt(url, part)" }
    accept:
      - check: npx tsc --noEmit

  - id: review
    needs: retry-core
    gate: approval
    show: [diff, cost]
    on: { rejected: retry-core }

  - id: push
    needs: [review]
    run: [git, push, origin, "\${{ tasks['retry-core'].outputs.branch }}"]
    effect: idempotent
    compensate: { run: [git, push, origin, --delete, plan/partial-retries] }
`
