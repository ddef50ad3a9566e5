// What the engine needs seldom and so loads late: how soon a resumed plan reaches its next task is decided by what must be read
// before. Loaded once, each answers without a turn of the event loop, so that a simulated run that has loaded all of them
// repeats itself to the letter. What drives a plan or takes an order imports lazily from here and nowhere else.

export const lazy = {
  adopting: lately(() => import('./forks/adopt-fork.ts')),
  forkWork: lately(() => import('./forks/fork-changes.ts')),
  apart: lately(() => import('./git/task-worktrees.ts')),
  asking: lately(() => import('./rollback/rollback-preview.ts')),
  attending: lately(() => import('./loop/attendant.ts')),
  checkpoints: lately(() => import('./rollback/checkpoints.ts')),
  committing: lately(() => import('./git/task-commits.ts')),
  consent: lately(() => import('./gates/consent.ts')),
  drift: lately(() => import('./revisions/drift.ts')),
  editing: lately(() => import('./revisions/edit-tasks.ts')),
  expressions: lately(() => import('../format/expression/expression.ts')),
  forking: lately(() => import('./forks/fork-plan.ts')),
  gateRules: lately(() => import('./permissions/gate-rules.ts')),
  gateEdits: lately(() => import('./gates/gate-checks.ts')),
  tending: lately(() => import('./loop/due-questions.ts')),
  lostOutputs: lately(() => import('./files/lost-outputs.ts')),
  keptFiles: lately(() => import('./files/kept-files.ts')),
  restoreScope: lately(() => import('./files/restore-scope.ts')),
  jsonValidation: lately(() => import('../format/expression/json-validation.ts')),
  gitHand: lately(() => import('./git/git-actions.ts')),
  auditing: lately(() => import('./records/audit.ts')),
  goingBack: lately(() => import('./rollback/perform-rollback.ts')),
  notices: lately(() => import('../domain/views/notices.ts')),
  notifying: lately(() => import('./notifications/notifier.ts')),
  tracing: lately(() => import('./notifications/tracer-feed.ts')),
  replanning: lately(() => import('./revisions/proposals.ts')),
  proposing: lately(() => import('./revisions/propose-after-failure.ts')),
}

/** All of it, now. */
export async function loadLazyParts(): Promise<void> {
  for (const load of Object.values(lazy)) await load()
}

function lately<T>(load: () => Promise<T>): () => T | Promise<T> {
  let loaded: T | null = null
  return () =>
    loaded ??
    load().then(module => {
      loaded = module
      return module
    })
}
