// The options and help of `planfold budget`.

import { type Command, InvalidArgumentError } from 'commander'
import { PRICE_CURRENCY } from '../../../domain/budget/amounts.ts'
import { type Read, readAmount, readMoney, readSize } from '../../../format/text/units.ts'
import type { Act } from '../../context.ts'
import { count, duration, OPTIONAL_PLAN, PLAN } from '../option-values.ts'
import type { BudgetAddOptions } from './budget.ts'

export function addBudget(program: Command, act: Act): void {
  const budget = program
    .command('budget')
    .description('show the budget of a plan, spent and left, or raise it')
    .addHelpText(
      'after',
      `
\`policy.budget\` limits a plan; \`budget\` limits a group or a task. When a budget is used up, the plan pauses and
asks for more. Completed tasks stay completed; after \`budget add\`, \`planfold resume\` continues.

Examples:
  planfold budget
  planfold budget release --json
  planfold budget add release --cost '2 USD'
  planfold budget add release --task research --calls 20 --tokens 500k`,
    )

  budget
    .command('show', { isDefault: true })
    .description('show what is spent, reserved and left, and a forecast')
    .argument('[plan]', OPTIONAL_PLAN)
    .action((plan: string | undefined) => act(async context => (await import('./budget.ts')).showBudget(context, plan)))

  budget
    .command('add')
    .description('raise the budget of a plan, a group or a task')
    .argument('<plan>', PLAN)
    .option('--cost <money>', "money in US dollars, such as '2 USD'", unit(readDollars))
    .option('--tokens <number>', 'tokens of language models: 1500, 500k, 2M', unit(readAmount))
    .option('--calls <number>', 'calls to language models', count)
    .option('--attempts <number>', 'attempts', count)
    .option('--time <duration>', 'time while tasks run: 30m, 2h', duration)
    .option('--output <size>', 'stored output: 50MB', unit(readSize))
    .option('--task <name>', 'raise the budget of this group or task (default: of the plan)')
    .action((plan: string, options: BudgetAddOptions) =>
      act(async context => (await import('./budget.ts')).addToBudget(context, plan, options)),
    )
}

/** Prices are known in US dollars; another currency could not be added. */
function readDollars(text: string): ReturnType<typeof readMoney> {
  const read = readMoney(text)
  if (read.ok && read.value.currency === PRICE_CURRENCY) return read
  const message = `'${text}' is not an amount in ${PRICE_CURRENCY}`
  return { ok: false, message, hint: `write an amount in US dollars: '2 ${PRICE_CURRENCY}'` }
}

const unit =
  <T>(read: (text: string) => Read<T>) =>
  (text: string): T => {
    const value = read(text)
    if (value.ok) return value.value
    throw new InvalidArgumentError(`${value.hint[0]!.toUpperCase()}${value.hint.slice(1)}.`)
  }
