// `planfold migrate`: makes the tables and roles of a PostgreSQL database, as an administrator of it.

import { migrateDatabase } from '../../../compose.ts'
import { answer, type Context, EXIT } from '../../command.ts'
import { usage } from '../../exit.ts'

export async function migrate(context: Context, named: string | undefined): Promise<number> {
  const url = named ?? context.environment.PLANFOLD_DATABASE
  if (url === undefined || !/^postgres(ql)?:\/\//.test(url))
    throw usage(
      'there is no database to migrate',
      'name it: planfold migrate postgres://admin@host/database, or set PLANFOLD_DATABASE',
    )
  const { schema, roles } = await migrateDatabase(url, context.now())
  answer(context, { schema, roles }, () => [
    `the database has schema ${schema}`,
    ...(roles.status === 'refused'
      ? [
          'This user may not make roles, so processes go on with one role, which no wall keeps from other tenants.',
          'Let an administrator of the database run this, with passwords of their own:',
          roles.sql,
        ]
      : [
          roles.isNew
            ? 'Processes log in with two roles. The passwords are shown only now:'
            : 'The roles were there before; their passwords are not known here:',
          `  PLANFOLD_DATABASE=${roles.faces}`,
          `  PLANFOLD_DATABASE_APPEND=${roles.append}`,
        ]),
  ])
  return EXIT.done
}
