//! Fleet: clusters with their GPUs. Several rows of one name make a mixed cluster.

use std::io::Read;

use crate::replay::input::table::{Refused, Table};

const MAX_PER_NODE: u64 = 1_000;
const MAX_NODES: u64 = 1_000_000;
const MAX_POOLS: usize = 10_000;

/// Equal nodes of one cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pool {
    pub model: String,
    pub gpus_per_node: u32,
    pub nodes: u32,
}

impl Pool {
    pub fn gpus(&self) -> u64 {
        u64::from(self.gpus_per_node) * u64::from(self.nodes)
    }
}

/// One cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    pub name: String,
    pub pools: Vec<Pool>,
}

impl Site {
    /// GPUs of the models; of all when none is named.
    pub fn gpus_of(&self, models: &[String]) -> u64 {
        let usable = |pool: &&Pool| models.is_empty() || models.contains(&pool.model);
        self.pools.iter().filter(usable).map(Pool::gpus).sum()
    }
}

/// Clusters in the order of the file, which one baseline goes by.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Fleet {
    pub sites: Vec<Site>,
}

impl Fleet {
    pub fn gpus(&self) -> u64 {
        self.sites.iter().map(|site| site.gpus_of(&[])).sum()
    }
}

/// Reads a fleet; `file` names it in refusals.
pub fn read_fleet(file: &str, source: impl Read) -> Result<Fleet, Refused> {
    let mut table = Table::open(file, source)?;
    let cluster = table.column("cluster");
    let model = table.required("gpu_model")?;
    let per_node = table.required("gpus_per_node")?;
    let nodes = table.required("nodes")?;
    let mut fleet = Fleet::default();
    let mut pools = 0;
    while table.advance()? {
        pools += 1;
        if pools > MAX_POOLS {
            return Err(table.refuse_value(nodes, "", &format!("there are more than {MAX_POOLS} rows")));
        }
        let name = cluster.map_or(Ok("fleet"), |column| table.filled(column))?.to_owned();
        let pool = Pool {
            model: table.filled(model)?.to_owned(),
            gpus_per_node: narrow(table.whole(per_node, 0..=MAX_PER_NODE)?),
            nodes: narrow(table.whole(nodes, 0..=MAX_NODES)?),
        };
        match fleet.sites.iter_mut().find(|site| site.name == name) {
            Some(site) => site.pools.push(pool),
            None => fleet.sites.push(Site { name, pools: vec![pool] }),
        }
    }
    if fleet.gpus() == 0 {
        let reason = "the fleet has no GPU".to_owned();
        return Err(Refused { file: file.to_owned(), line: 0, column: String::new(), reason });
    }
    Ok(fleet)
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
