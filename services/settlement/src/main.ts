import { runProcess } from '@penstock/platforms/process.ts'
import { bind } from '@penstock/runtime/run.ts'
import { settlementService } from './service.ts'

await runProcess('settlement', ({ externalWorld }) => {
  const { lightning, chain, keyring, network, height } = externalWorld()
  return [bind(settlementService(), { lightning, chain, keyring, network }, height)]
})
