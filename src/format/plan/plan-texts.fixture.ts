// Plans that say much about judgement and about going back, shared by the tests of this room and of pictures.

export const RECOVERY_PLAN = `planfold: 1
name: release
policy:
  on_failure: rollback
  gates: { before: [push, deploy], role: release, count: 2, valid: 12h }
  roles: { release: [ana, bo], lead: cleo }
  replan: auto
  escalate: { after: 2h, to: lead }
  review: { window: 30m, max: 5 }
  breaker: { failures: 5, cooldown: 1m }
  limits: { attempts: 200, loops: 50 }
notify:
  - { on: [waiting, failed], run: [./tell.sh] }
  - { webhook: "https://example.org/hook", every: 1d }
tasks:
  - id: build
    run: [make]
    timebox: 30m
    capabilities: [compiler]
    postconditions: [{ check: test -f out/app }, The old one is gone]
    effects: ["out/**"]
    failure_modes:
      - { name: flaky-net, detect: { expect: exit == 7 }, class: transient }
    recover:
      - { on: transient, retry: { attempts: 5, backoff: 1s..1m } }
      - { on: [logic, flaky-net], alternate: other-way }
      - { repair: fixer, times: 2 }
      - { critic: fixer }
      - { on: logic, replan: true }
      - { on: logic, replan: { add: [{ id: more, needs: [build], run: [ls] }] } }
      - { on: logic, replan: { template: bugfix } }
      - { on: policy, ask: lead }
      - { ask: true }
      - { abort: rollback }
  - { id: other-way, run: [make, other] }
  - { id: fixer, run: [./fix.sh, "\${{ tasks.build.outputs.log }}"] }
  - id: review
    needs: [build]
    gate: { type: approval, checks: [{ check: npm test }], unmet: ask, role: release, count: 2, expires: 24h, expired: escalate, escalate: { after: 30m, to: lead } }
    show: [diff, cost]
  - { id: shape, needs: [build], gate: { type: schema, file: out/app.json, against: app.schema.json } }
  - { id: purse, needs: [build], gate: { type: budget, attempts: 40, time: 2h } }
  - id: size
    needs: [build]
    gate: { type: decision, options: [{ id: small, title: One node, pros: [cheap], cons: [slow], cost: 3 EUR }, { id: large }] }
    on: { small: ship, large: ship }
  - id: port
    needs: [build]
    gate: { type: question, question: "Which port?", form: [{ name: port, type: number, min: 1, max: 65535, default: 80 }, { name: why }] }
  - { id: plain, needs: [build], gate: diff }
  - { id: ship, run: [git, push] }
`

export const ROLLBACK_PLAN = `planfold: 1
name: release
policy:
  checkpoints: { every: 5, before: unsafe, files: declared }
  on_failure: keep
git: { commits: task, worktree: task, message: "feat(plan): {title}", base: main }
tasks:
  - { id: build, run: [make], outputs: { version: stdout } }
  - { id: safe, needs: [build], checkpoint: before-deploy }
  - { id: safer, needs: [safe], checkpoint: { name: by-hand } }
  - { id: safest, needs: [safer], checkpoint: true }
  - { id: commit, needs: [build], git: { commit: "release \${{ tasks.build.outputs.version }}", paths: [CHANGELOG.md] } }
  - { id: mark, needs: [commit], git: { tag: v1.2.0, message: first } }
  - { id: join, needs: [build], git: { merge: build, message: together } }
  - { id: push, needs: [mark], run: [push], compensate: { task: undo-push } }
  - { id: undo-push, run: [unpush] }
`
