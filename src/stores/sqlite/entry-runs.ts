// Where the entries of a plan are. The journal is one list in the order of writing, so entries of a plan that is driven alone stand
// one behind the other: a run. Only the first of a run is in the index by plan and version; the others are found by counting from
// it, and a step of such a plan writes no page of the index. A run ends where another plan's entry comes between, and after
// sixteen, so that the end of a plan is never far from an entry that the index holds.

export const RUN = 16

/** The position of the last entry of a plan, in SQL. `plan` names its number there. */
export const lastPosition = (plan: string): string => {
  const first = `(SELECT position FROM entries WHERE plan_no = ${plan} AND behind = 0 ORDER BY version DESC LIMIT 1)`
  return `(SELECT position FROM entries WHERE plan_no = ${plan} AND position >= ${first} AND position < ${first} + ${RUN}
    ORDER BY position DESC LIMIT 1)`
}

/** The version of the entry the index holds at or before another of the same plan; 0 for none. */
const indexedAt = (plan: string, version: string): string =>
  `coalesce((SELECT max(version) FROM entries WHERE plan_no = ${plan} AND behind = 0 AND version <= ${version}), 0)`

/** `FROM` and `WHERE` of a plan's entries `e` from one version to another (`a` and `z`), in SQL. */
export const entriesBetween = (plan: string, a: string, z: string): string => `FROM (
    SELECT position, lead(version, 1, version + ${RUN}) OVER (ORDER BY version) - version AS length
    FROM entries WHERE plan_no = ${plan} AND behind = 0 AND version >= ${indexedAt(plan, a)} AND version <= ${z}
  ) r CROSS JOIN entries e ON e.position >= r.position AND e.position < r.position + r.length
  WHERE e.plan_no = ${plan} AND e.version >= ${a} AND e.version <= ${z}`
