// A git repository beside the working tree, as coding agents keep one for their checkpoints: `git add -A`, `git commit`, and
// `git checkout` of the paths to bring back. The durable one also waits until everything is on the disk.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

export interface Git {
  readonly name: 'git' | 'durable git'
  readonly folder: string
  head(): string
  capture(): void
  /** `written`: the files that are synced afterwards, when they are not the paths themselves. */
  restore(commit: string, paths: readonly string[], written?: readonly string[]): void
  /** How many files differ from the head. */
  changed(): number
}

export function shadowGit(base: string, root: string, name: Git['name']): Git {
  const folder = join(base, `${name.replace(' ', '-')}.git`)
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: base,
    GIT_DIR: folder,
    GIT_WORK_TREE: root,
    GIT_CONFIG_SYSTEM: '/dev/null',
  }
  const git = (...args: string[]): string =>
    execFileSync('git', args, { env, cwd: root, encoding: 'utf8', maxBuffer: 1e9 }).trim()
  git('init', '-q')
  const settings = {
    'user.name': 'bench',
    'user.email': 'bench@example.com',
    'gc.auto': '0',
    'maintenance.auto': 'false',
    ...(name === 'durable git' && { 'core.fsync': 'all' }),
  }
  for (const [key, value] of Object.entries(settings)) git('config', key, value)
  return {
    name,
    folder,
    head: () => git('rev-parse', 'HEAD'),
    capture() {
      git('add', '-A')
      git('commit', '-q', '--allow-empty', '--no-verify', '-m', 'checkpoint')
    },
    restore(commit, paths, written = paths) {
      git('checkout', '-q', commit, '--', ...paths)
      // Git never syncs what it checks out.
      if (name === 'durable git') {
        const folders = new Set(written.map(path => path.slice(0, path.lastIndexOf('/'))))
        execFileSync('sync', [...written, ...folders], { cwd: root })
      }
    },
    changed: () => git('diff', '--name-only', 'HEAD').split('\n').filter(Boolean).length,
  }
}
