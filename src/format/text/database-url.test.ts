import { describe, expect, test } from 'vitest'
import { withoutPassword, withoutPasswords } from './database-url.ts'

describe('a password in an address', () => {
  test.each([
    ['postgres://ana:s3cret@db.local:5432/plans', 'postgres://ana@db.local:5432/plans'],
    ['postgres://ana:s3cret@/plans?host=/run/pg', 'postgres://ana@/plans?host=/run/pg'],
    ['postgres://ana:p@ss/w:d@db/plans', 'postgres://ana@db/plans'],
    [
      'postgresql://db/plans?user=ana&password=s3cret&sslmode=require',
      'postgresql://db/plans?user=ana&sslmode=require',
    ],
    ['postgres://db/plans?password=s3cret', 'postgres://db/plans'],
    ['postgres://ana@db:5432/plans', 'postgres://ana@db:5432/plans'],
    ['postgres://db:5432/plans', 'postgres://db:5432/plans'],
  ])('%s is shown without it', (url, shown) => expect(withoutPassword(url)).toBe(shown))

  test('is taken out of what was typed, where there is one', () => {
    expect(withoutPasswords(['list', '--database=postgres://a:b@c/d'])).toEqual(['list', '--database=postgres://a@c/d'])
    expect(withoutPasswords(['list', '--database', 'postgres://a@c/d'])).toBeNull()
  })
})
