// One agent in one situation, from `planfold do GOAL` to its end: a real repository, the built program, a real process of an agent in the
// sandbox, and a model that follows a script. What was worked is approved as a person would, and is on the branch of the plan then.
// Needs the extras: agents

import { execFile } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TestAgent } from '../../test/agents/installed.ts'
import { World } from '../../test/e2e/started-agents.fixture.ts'
import type { Way } from './lazy-agents.ts'
import { npmRegistry } from './npm-registry.ts'
import type { Situation } from './situations.ts'

export interface Trial {
  /** Worked, reviewed and committed. */
  readonly isGreen: boolean
  /** Why not, as `show` says it. */
  readonly why: string
  readonly ms: number
  /** What the commands printed. */
  readonly log: string
}

export async function tryAgent(agent: TestAgent, situation: Situation, { name: way, scripts }: Way): Promise<Trial> {
  const began = performance.now()
  const { name, goal, files, registry: packages } = situation
  // A wrapper of a toolchain that looks into the person's home finds nothing in the one of the world.
  const PATH = process.env
    .PATH!.split(':')
    .filter(path => !path.startsWith(homedir()))
    .join(':')
  const world = await World.open(agent, `${name}-${way.replaceAll(' ', '-')}`, scripts, { PATH, files })
  const registry = packages === undefined ? null : await npmRegistry(packages, join(world.folder, 'registry'))
  let log = ''
  const run = async (...argv: readonly string[]) => {
    const { code, out } = await world.run(...argv)
    log += `$ planfold ${argv.join(' ')}\n${out}(exit ${code})\n`
    return code
  }
  const ask = async <T>(...argv: readonly string[]): Promise<T> =>
    (JSON.parse((await world.tell(...argv, '--json')).out) as { readonly data: T }).data
  try {
    if (registry !== null) {
      const oldest = packages!.slice(0, 1).map(one => `${one.name}@${one.version}`)
      world.write('.npmrc', `registry=${registry.url}/\nfetch-retries=0\n`)
      const { PATH, HOME } = world.env()
      // The registry answers in this process.
      await promisify(execFile)('npm', ['install', '--package-lock-only', ...oldest], {
        cwd: world.root,
        env: { PATH, HOME },
      })
      world.commit('the lock file')
      // npm sends nothing on the loopback through a proxy.
      await run('policy', 'allow', 'network', registry.url.replace('http:', 'tcp:'))
    }
    let code = await run('do', goal, '--yes', '--model', 'openai-chat/scripted')
    const listed = await ask<{ readonly items: readonly { readonly name: string }[] } | undefined>('list')
    const plan = listed?.items[0]?.name
    if (plan === undefined) return { isGreen: false, why: 'there is no plan', ms: performance.now() - began, log }
    if (code === 4 && (await run('approve', plan, 'review')) === 0) code = await run('do')
    const { summary } = await ask<{ readonly summary: { readonly status: string; readonly reason: string } }>(
      'show',
      plan,
    )
    const committed = code === 0 ? world.git('diff', '--name-only', 'HEAD', `plan/${plan}`) : ''
    return {
      isGreen: code === 0 && summary.status === 'completed' && committed !== '',
      why: `exit ${code}, ${summary.reason ?? summary.status}`,
      ms: performance.now() - began,
      log,
    }
  } finally {
    await registry?.close()
  }
}
