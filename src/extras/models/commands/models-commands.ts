// The options and help of `planfold models`.

import { type Command, Option } from 'commander'
import { since } from '../../../cli/commands/plans/log.ts'
import type { Act } from '../../../cli/context.ts'

export function addCommands(program: Command, act: Act): void {
  const models = program
    .command('models')
    .description('list and test language models; show calls, tokens and cost')
    .addHelpText(
      'after',
      `
Settings: PLANFOLD_MODELS, or ~/.config/planfold/models.yaml; never a file in the workspace. Keys: there, or
ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY. Default model: PLANFOLD_MODEL, or \`default:\` in the settings.

Examples:
  planfold models list
  planfold models test local/llama3
  planfold models usage --since 7d`,
    )

  models
    .command('list', { isDefault: true })
    .description('list the models in your settings, with address, key and price; calls nothing')
    .action(act(async () => (await import('./models.ts')).listModels))

  models
    .command('test')
    .description('test a model with one small question')
    .argument('[model]', 'PROVIDER/NAME (default: the default model in your settings)')
    .action(act(async () => (await import('./models.ts')).tryModel))

  models
    .command('usage')
    .description('show calls, tokens and cost, by model')
    .addOption(new Option('--since <when>', 'since when: 7d (ago) or a timestamp').argParser(since))
    .action(act(async () => (await import('./models.ts')).showUsage))
}
