import { expect, test } from 'vitest'
import { isHex, paymentHashOf } from './hex.ts'
import { fundingScript, scriptKind, taprootFundingScript, walletScript } from './script.ts'
import { blockHash, merkleRoot, serialiseTransaction, transactionId, virtualSize } from './transaction.ts'

// The keys and the script of the funding transaction in BOLT 3, appendix B.
const [local, remote] = [
  '023da092f6980e58d2c037173180e9a465476026ee50f96695963e8efe436f54eb',
  '030e9f7b623d2ccc7c9bd44d66d5ce21ce504c0acf6385a132cec6d3c39fa711c1',
]
const bolt3Script = '0020c015c4a6be010e21657068fc2e6a9d02b27ebe4d490a25846f7237f104d1a3cd'

test('the funding script equals that of BOLT 3, in either order of the keys', () => {
  expect(fundingScript(local, remote)).toBe(bolt3Script)
  expect(fundingScript(remote, local.toUpperCase())).toBe(bolt3Script)
})

test('the taproot funding script equals the example of the BOLTs, in either order of the keys', () => {
  const [one, other] = [
    '03b7203dec7c13896b6ff1f58b24f84458c441720a12b5a57426397e22f0a8c78b',
    '02956e6845a6f346f97c5e028c0f8ab38a76b0124fd7184deab60f682b3e657fdb',
  ]
  const script = '5120d0ebb4909d563a7ae1213fddede4ae54132fba0ef0b97ee3f8469191fecd348e'
  expect(taprootFundingScript(one, other)).toBe(script)
  expect(taprootFundingScript(other.toUpperCase(), one)).toBe(script)
  // BIP 327 allows two equal keys.
  expect(scriptKind(taprootFundingScript(one, one))).toBe('p2tr')
  expect(() => taprootFundingScript(one, `02${'ff'.repeat(32)}`)).toThrow(/invalid/)
})

test('the id of a transaction equals the example of BOLT 3', () => {
  const transaction = {
    inputs: [
      {
        txid: 'fd2105607605d2302994ffea703b09f66b6351816ee737a93e42a841ea20bbad',
        vout: 0,
        script:
          '48304502210090587b6201e166ad6af0227d3036a9454223d49a1f11839c1a362184340ef0240220577f7cd5cca78719405cbf1de7414ac027f0239ef6e214c90fcaab0454d84b3b012103535b32d5eb0a6ed0982a0479bbadc9868d9836f6ba94dd5a63be16d875069184',
      },
    ],
    outputs: [
      { valueSat: 10_000_000n, script: bolt3Script },
      { valueSat: 4_989_986_080n, script: '00143ca33c2e4446f4a305f23c80df8ad1afdcf652f9' },
    ],
  }
  expect(transactionId(transaction)).toBe('8984484a580b825b9972d7adb15050b3ab624ccd731946b3eeddb92f4e7ef6be')
  expect(
    serialiseTransaction({ inputs: [], outputs: Array.from({ length: 300 }, () => ({ valueSat: 0n, script: '51' })) }),
  ).toContain('fd2c01')
})

test('a block hash covers the header, and a Merkle root covers the transactions', () => {
  const genesis = '4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b'
  expect(merkleRoot([genesis])).toBe(genesis)
  const ids = ['11', '22', '33'].map((byte) => byte.repeat(32))
  expect(merkleRoot(ids)).toBe(merkleRoot([...ids, '33'.repeat(32)]))
  const header = { previousHash: '00'.repeat(32), merkleRoot: genesis, time: 1_296_688_602, nonce: 2 }
  expect(isHex(blockHash(header), 32)).toBe(true)
  expect(blockHash({ ...header, nonce: 3 })).not.toBe(blockHash(header))
})

test('scriptKind recognises every kind of output script', () => {
  expect(scriptKind(bolt3Script)).toBe('p2wsh')
  expect(scriptKind(bolt3Script.toUpperCase())).toBe('p2wsh')
  expect(scriptKind(`5120${'ab'.repeat(32)}`)).toBe('p2tr')
  expect(scriptKind(walletScript(local))).toBe('p2wpkh')
  expect(scriptKind(`76a914${'ab'.repeat(20)}88ac`)).toBe('p2pkh')
  expect(scriptKind(`a914${'ab'.repeat(20)}87`)).toBe('p2sh')
  for (const other of ['', '51', `0020${'ab'.repeat(31)}`, `5220${'ab'.repeat(32)}`]) expect(scriptKind(other)).toBe('other')
})

test('a wallet payment with change has a virtual size of 153', () => {
  expect(
    virtualSize(1, [
      { valueSat: 1n, script: bolt3Script },
      { valueSat: 1n, script: walletScript(local) },
    ]),
  ).toBe(153)
})

test('the payment hash is the SHA-256 hash of the preimage', () => {
  expect(paymentHashOf('00'.repeat(32))).toBe('66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925')
})
