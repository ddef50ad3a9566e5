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
  ['deploy', 'npm publish'],
  ['deploy', 'Roll it out to production'],
  ['deploy', 'We need to deploy this to staging by Friday'],
  ['deploy', 'Build the image and push it to production'],
  ['deploy', 'Tag and release v1.2.3'],
  ['deploy', "Déploie l'application en production"],
  ['push', 'Fix the crash, run the tests and push to upstream'],
  ['push', 'Force-push the branch'],
  ['push', 'git push origin main'],
  ['push', 'Commit everything and push it to origin'],
  ['delete', 'Delete all rows of the users table'],
  ['delete', 'Drop the sessions table in production'],
  ['delete', 'Purge all records older than 2020'],
  ['delete', 'Delete all records older than 30 days from the audit table'],
  ['delete', 'Delete everything in the production bucket'],
  ['delete', 'Reset the production database'],
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
  'The CLI dropped my database',
  'Failed to push to origin',
  'Force push is not detected',
  'Before deploying to production, the config should be validated',
  'Lösche keine Benutzer',
  'Ne déploie pas en production',
  'Beim Deploy in Produktion stürzt der Server ab',
  // Of something else.
  'Truncate long user names in the report',
  'Publish an event when a date is parsed',
  'Release the lock to other threads',
  'Push the item to the stack',
  'Push notifications for orders',
  'Drop support for Node 12',
  'Migrate tests to vitest',
  'release notes for 2.0',
  'Release note fix for 5.6.5',
  'Release the lock after the write',
  'Drop privileges after binding the port',
  'Drop stale entries',
  'Push items onto the stack',
  'Push the filter down to the storage layer',
  'Read the config and push it to the list',
  'Publish changes to subscribers',
  'Deploy button is disabled on mobile',
  'Migrate all users of request() to fetch',
  'Migrate all tables in the docs to markdown',
  // Code that does such things.
  'Add a delete button',
  'Add a command to create and drop tables',
  'Add a hook that deploys to production',
  'Add a workflow to build and deploy the site',
  'Delete all rows older than a day every night',
  'Agrega un comando para borrar la base de datos de producción',
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

test.each([
  ['delete', 'Drop the sessions table'],
  ['delete', 'delete all tables in query interface'],
  ['delete', 'Delete all entries older than ttl in LruCache'],
  ['migrate', 'Migrate the database to Postgres'],
  ['deploy', 'Deploy'],
  ['deploy', 'release it on windows too'],
  ['deploy', 'Ship it in ESM format'],
  ['deploy', 'Collect the events and publish them'],
  ['deploy', 'Add steps: build, test, publish to npm'],
  ['push', 'Commit and push'],
  ['push', 'Run git push in a subprocess'],
  ['push', 'Push changes to the server over websocket'],
  ['push', 'Support fetch and push to origin'],
])('asked, %s: %s', (word, text) => {
  const { steps, doubts } = irreversibleWishes(text)
  expect({ steps, doubts: doubts.map(doubt => doubt.word) }).toEqual({ steps: [], doubts: [word] })
})
