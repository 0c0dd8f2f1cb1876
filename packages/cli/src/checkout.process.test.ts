import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const command = join(import.meta.dirname, '../../../penstock')
const runHelp = (file: string, cwd: string) =>
  spawnSync(file, ['--help'], { cwd, encoding: 'utf8', env: { PATH: '/usr/bin:/bin' } })

test('the command of the checkout runs from any folder and through a link, without a package registry', () => {
  const elsewhere = mkdtempSync(join(tmpdir(), 'penstock-cli-'))
  symlinkSync(command, join(elsewhere, 'link'))
  for (const file of [command, './link']) {
    const { status, stdout } = runHelp(file, elsewhere)
    expect([status, stdout.split('\n')[0]]).toEqual([0, 'Usage: penstock [options] [command]'])
  }
})

test('the command explains the setup in a checkout that is not set up', () => {
  const bare = mkdtempSync(join(tmpdir(), 'penstock-cli-'))
  cpSync(command, join(bare, 'penstock'))
  expect(runHelp('./penstock', bare)).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/run "npm start" once/) as unknown,
  })
})
