// `planfold migrate`: makes the tables and roles of a PostgreSQL database, as an administrator of it.

import { databaseOf, migrateDatabase } from '../../../compose.ts'
import { answer, type Context, EXIT } from '../../command.ts'
import { usage } from '../../exit.ts'

export async function migrate(context: Context): Promise<number> {
  const { cwd, environment, settings } = context
  const url = await databaseOf({ cwd, environment }, settings.database)
  if (url === undefined)
    throw usage(
      'there is no database to migrate',
      'name it: planfold migrate --database postgres://ADMINISTRATOR@HOST/NAME, or set PLANFOLD_DATABASE',
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
