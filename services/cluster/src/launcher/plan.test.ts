import { expect, test } from 'vitest'
import { planProcesses } from './plan.ts'

test("only gateways listen on the operator's host, and all other processes listen on loopback", async () => {
  let port = 10_000
  const planned = await planProcesses({
    asRole: (name) => ({ PENSTOCK_POSTGRES_URL: name }),
    replicas: 2,
    demo: false,
    url: 'http://127.0.0.1:8080',
    host: '0.0.0.0',
    isSimulated: true,
    env: { PENSTOCK_HOST: '0.0.0.0' },
    ports: { simnet: 1, audit: 2, health: async () => ++port },
  })
  for (const { name, env } of planned)
    expect(env).toMatchObject({
      PENSTOCK_HOST: name === 'gateway' ? '0.0.0.0' : '127.0.0.1',
      PENSTOCK_HEALTH_HOST: '127.0.0.1',
    })
  expect(planned.filter(({ name }) => name === 'gateway')).toHaveLength(2)
})
