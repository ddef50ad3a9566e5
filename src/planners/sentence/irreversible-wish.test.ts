// Which goals command something that cannot be taken back, and which only speak of it.

import { expect, test } from 'vitest'
import { irreversibleWishes } from './irreversible-wish.ts'

test.each([
  ['deploy', 'Deploy to production'],
  ['deploy', 'Please deploy it to staging'],
  ['deploy', 'Fix it and deploy to production'],
  ['deploy', 'Add a test. Then publish it to npm.'],
  ['deploy', 'Release v2.0.0'],
  ['deploy', 'Update the changelog and release version 3.1'],
  ['deploy', 'Once the tests pass, deploy it to production'],
  ['deploy', 'Can you deploy this to production?'],
  ['deploy', 'Rebuild the index and deploy it to production'],
  ['deploy', 'Deploy with a canary at 5 % and compare error rates'],
  ['deploy', 'Run `npm publish`'],
  ['push', 'Fix the crash, run the tests and push to upstream'],
  ['push', 'Force-push the branch'],
  ['push', 'git push origin main'],
  ['delete', 'Delete all rows of the users table'],
  ['delete', 'Drop the sessions table in production'],
  ['delete', 'Purge all records older than 2020'],
  ['migrate', 'Migrate the data to the new schema'],
  ['deploy', 'Behebe den Absturz und deploye es in Produktion'],
])('%s: %s', (word, text) => {
  expect(irreversibleWishes(text).steps.map(step => step.word)).toEqual([word])
})

test('each step quotes the goal', () => {
  expect(irreversibleWishes('Fix the quoting, then publish it and push it to origin.').steps).toEqual([
    { word: 'deploy', said: 'publish it' },
    { word: 'push', said: 'push it to origin' },
  ])
})

test.each([
  // Negated, described, reported.
  'Do not deploy',
  "Fix it, but don't push to origin",
  'parse_date should not drop the table header',
  'The parser drops rows of users with no date',
  'The deploy to production fails',
  'Why does the deploy to production fail?',
  'Users are deleted when they log out',
  // Of something else.
  'Truncate long user names in the report',
  'Publish an event when a date is parsed',
  'Release the lock to other threads',
  'Push the item to the stack',
  'Push notifications for orders',
  'Drop support for Node 12',
  'Migrate tests to vitest',
  'release notes for 2.0',
  // Code that does such things.
  'Add a delete button',
  'Add a command to create and drop tables',
  'Add a hook that deploys to production',
  'Document how to deploy to production',
  'docs: deploy to production with Docker',
  'Publish to npm from CI with OIDC',
  'When a user logs out, delete all sessions',
  'Delete all users in tests',
  'Delete the users endpoint',
  'The button "Deploy to production" is misaligned',
])('nothing: %s', text => {
  expect(irreversibleWishes(text)).toEqual({ steps: [], doubts: [] })
})

test('what may mean both is asked', () => {
  const doubts = (text: string) => irreversibleWishes(text).doubts.map(({ word }) => word)
  expect(doubts('Drop the sessions table')).toEqual(['delete'])
  expect(doubts('Migrate the database to Postgres')).toEqual(['migrate'])
  expect(doubts('Deploy')).toEqual(['deploy'])
})
