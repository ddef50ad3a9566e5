// Two roles for the processes of Planfold, so that a mistake in a list never shows the plans of another tenant: `planfold_faces` only reads,
// and `planfold_append` may do nothing but call the functions that append, queue and keep contents. Those run as `planfold_owner`, who cannot log in, and for whom row-level
// security holds too: a call reaches only rows of its tenant, also when it names others.

import { type Query, SCHEMA } from './connection/connection.ts'

export const OWNER_ROLE = 'planfold_owner'
const FACES = 'planfold_faces'
const APPEND = 'planfold_append'

export interface Role {
  readonly name: string
  /** Null: it was there before, with a password that is not known here. */
  readonly password: string | null
}

export type Roles =
  | { readonly status: 'made'; readonly faces: Role; readonly append: Role }
  /** For an administrator, who chooses the passwords. */
  | { readonly status: 'refused'; readonly sql: string }

/** `newPassword`: of the alphabet of base64url. */
export async function makeRoles(query: Query, newPassword: () => string): Promise<Roles> {
  const [me] = await query(
    'SELECT rolsuper OR rolcreaterole AS may, current_database() AS database FROM pg_roles WHERE rolname = current_user',
  )
  const database = me!.database as string
  if (me!.may !== true) return { status: 'refused', sql: rolesSql(database, name => `password of ${name}`) }
  const there = (await query('SELECT rolname FROM pg_roles WHERE rolname = ANY ($1)', [[FACES, APPEND]])).map(
    ({ rolname }) => rolname,
  )
  const passwords = new Map([FACES, APPEND].map(name => [name, newPassword()]))
  await query(rolesSql(database, name => passwords.get(name)!))
  const role = (name: string): Role => ({ name, password: there.includes(name) ? null : passwords.get(name)! })
  return { status: 'made', faces: role(FACES), append: role(APPEND) }
}

/** Are other tenants, and writes past the functions, out of reach for this user? */
export async function isWalled(query: Query): Promise<boolean> {
  const [row] = await query(
    `SELECT NOT rolsuper AND NOT rolbypassrls AND NOT has_table_privilege(current_user, '${SCHEMA}.entries', 'INSERT') AS walled
      FROM pg_roles WHERE rolname = current_user`,
  )
  return row!.walled === true
}

/** Can be run again. */
function rolesSql(database: string, passwordOf: (name: string) => string): string {
  const make = (name: string, more: string) =>
    `IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '${name}') THEN CREATE ROLE ${name} ${more}; END IF;`
  const login = (name: string) => make(name, `LOGIN PASSWORD '${passwordOf(name)}'`)
  return `DO $roles$ DECLARE one text; BEGIN
  ${make(OWNER_ROLE, 'NOLOGIN')}
  ${login(FACES)}
  ${login(APPEND)}
  IF NOT pg_has_role(current_user, '${OWNER_ROLE}', 'MEMBER') THEN EXECUTE format('GRANT ${OWNER_ROLE} TO %I', current_user); END IF;
  GRANT USAGE, CREATE ON SCHEMA ${SCHEMA} TO ${OWNER_ROLE};
  FOR one IN SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = '${SCHEMA}' AND c.relkind IN ('r', 'v') LOOP
    EXECUTE 'ALTER TABLE ' || one || ' OWNER TO ${OWNER_ROLE}';
  END LOOP;
  FOR one IN SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = '${SCHEMA}' LOOP
    EXECUTE 'ALTER FUNCTION ' || one || ' OWNER TO ${OWNER_ROLE}';
  END LOOP;
  ALTER SCHEMA ${SCHEMA} OWNER TO ${OWNER_ROLE};
  GRANT USAGE ON SCHEMA ${SCHEMA} TO ${FACES}, ${APPEND};
  GRANT SELECT ON ALL TABLES IN SCHEMA ${SCHEMA} TO ${FACES};
  GRANT SELECT ON ALL SEQUENCES IN SCHEMA ${SCHEMA} TO ${FACES};
  ALTER DEFAULT PRIVILEGES FOR ROLE ${OWNER_ROLE} IN SCHEMA ${SCHEMA} GRANT SELECT ON TABLES TO ${FACES};
  REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA ${SCHEMA} FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION ${SCHEMA}.tenant() TO ${FACES}, ${APPEND};
  FOR one IN SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = '${SCHEMA}' AND p.prosecdef LOOP
    EXECUTE 'GRANT EXECUTE ON FUNCTION ' || one || ' TO ${APPEND}';
  END LOOP;
  GRANT CONNECT ON DATABASE "${database.replaceAll('"', '""')}" TO ${FACES}, ${APPEND};
END $roles$`
}
