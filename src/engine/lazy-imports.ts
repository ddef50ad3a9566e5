// Rarely used parts of the engine, imported on first use: importing all at once would double the time of `planfold status`. Each is named
// like its file. A loaded part is returned without a turn of the event loop, so that a simulation which has loaded all of them is
// deterministic. The loop and the orders import lazily from here and nowhere else.

export const lazy = {
  adoptFork: lazily(() => import('./forks/adopt-fork.ts')),
  forkChanges: lazily(() => import('./forks/fork-changes.ts')),
  runRace: lazily(() => import('./tries/run-race.ts')),
  bestChanges: lazily(() => import('./tries/best-changes.ts')),
  tryFolders: lazily(() => import('./tries/try-folder.ts')),
  taskWorktrees: lazily(() => import('./git/task-worktrees.ts')),
  rollbackPreview: lazily(() => import('./rollback/rollback-preview.ts')),
  attendant: lazily(() => import('./loop/attendant.ts')),
  checkpoints: lazily(() => import('./rollback/checkpoints.ts')),
  taskCommits: lazily(() => import('./git/task-commits.ts')),
  consent: lazily(() => import('./gates/consent.ts')),
  drift: lazily(() => import('./revisions/drift.ts')),
  editTasks: lazily(() => import('./revisions/edit-tasks.ts')),
  expressions: lazily(() => import('../format/expression/expression.ts')),
  forkPlan: lazily(() => import('./forks/fork-plan.ts')),
  looseningRules: lazily(() => import('./permissions/loosening-rules.ts')),
  gateRules: lazily(() => import('./permissions/gate-rules.ts')),
  gateChecks: lazily(() => import('./gates/gate-checks.ts')),
  dueQuestions: lazily(() => import('./loop/due-questions.ts')),
  lostOutputs: lazily(() => import('./files/lost-outputs.ts')),
  keptFiles: lazily(() => import('./files/kept-files.ts')),
  restoreScope: lazily(() => import('./files/restore-scope.ts')),
  judgedWork: lazily(() => import('./judges/judged-work.ts')),
  judgeTests: lazily(() => import('./attempts/judge-tests.ts')),
  jsonValidation: lazily(() => import('../format/expression/json-validation.ts')),
  gitActions: lazily(() => import('./git/git-actions.ts')),
  audit: lazily(() => import('./records/audit.ts')),
  lessons: lazily(() => import('./records/lessons.ts')),
  performRollback: lazily(() => import('./rollback/perform-rollback.ts')),
  machineAnswer: lazily(() => import('./gates/machine-answer.ts')),
  ownMemory: lazily(() => import('./permissions/own-memory.ts')),
  reach: lazily(() => import('./attempts/reach.ts')),
  agentHomes: lazily(() => import('./files/agent-homes.ts')),
  agentAttemptTools: lazily(() => import('./attempts/agent-attempt-tools.ts')),
  networkAccess: lazily(() => import('./attempts/network-access.ts')),
  networkProxy: lazily(() => import('../safety/network/network-proxy.ts')),
  secretSources: lazily(() => import('../safety/secrets/secret-sources.ts')),
  specialModes: lazily(() => import('../safety/files/special-modes.ts')),
  secretFiles: lazily(() => import('./files/secret-files.ts')),
  userRules: lazily(() => import('../safety/network/user-rules.ts')),
  notices: lazily(() => import('../domain/views/notices.ts')),
  notifier: lazily(() => import('./notifications/notifier.ts')),
  tracerFeed: lazily(() => import('./notifications/tracer-feed.ts')),
  proposals: lazily(() => import('./revisions/proposals.ts')),
  proposeAfterFailure: lazily(() => import('./revisions/propose-after-failure.ts')),
}

function lazily<T>(load: () => Promise<T>): () => T | Promise<T> {
  let loaded: T | null = null
  return () =>
    loaded ??
    load().then(module => {
      loaded = module
      return module
    })
}
