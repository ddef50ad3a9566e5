// A command of the command line, carried out in this process: for whoever comes before or after a kill and is not killed. The one that is
// killed, or that has to begin anew in the sight of others, is a process of its own.

import { planfoldIn } from '../e2e/in-process.fixture.ts'
import { type Ended, type Ground, OWN_ENVIRONMENT } from './harness.ts'

export type Command = (argv: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Ended>

export const commandIn =
  (folder: string): Command =>
  async (argv, env = {}) => {
    const { exit, stdout, stderr } = await planfoldIn(folder, { ...OWN_ENVIRONMENT, ...env })(...argv)
    return { code: exit, signal: null, out: stdout, err: stderr }
  }

export const command = (ground: Ground, argv: readonly string[], env?: Readonly<Record<string, string>>) =>
  commandIn(ground.workspace)(argv, env)
