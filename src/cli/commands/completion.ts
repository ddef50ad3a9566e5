// `planfold completion SHELL`: prints a completion script for bash, zsh or fish.

import type { Command } from 'commander'
import { answerDocument } from '../answer.ts'
import { completionScript, type Shell } from '../completion.ts'
import type { Context } from '../context.ts'
import { EXIT } from '../exit.ts'

export async function completion(context: Context, shell: Shell, program: Command): Promise<number> {
  const script = completionScript(program, shell)
  answerDocument(context, { shell, script }, () => script)
  return EXIT.done
}
