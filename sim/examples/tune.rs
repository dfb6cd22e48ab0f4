//! Scratch runner.
use squadron_sim::replay::{*, generate::*, input::*};
use squadron_core::dispatch::book::Terms;
fn fleet(sizes:&[u32])->Fleet{Fleet{sites:sizes.iter().enumerate().map(|(i,s)|Site{name:format!("c{i}"),pools:vec![Pool{model:"V100".into(),gpus_per_node:8,nodes:s/8}]}).collect()}}
#[derive(Clone,Debug)]
struct F{jct:f64,mean:f64,p50:f64,p95:f64,p99:f64,g16:f64,gw:f64,err:f64,worst:f64}
fn figs(t:&Trace,o:&Outcome)->F{
 let mut w:Vec<f64>=vec![];let mut j=0.;let mut g=(0.,0.);let mut gw=0.;
 for r in &o.runs{let b=&t.jobs[r.job];let x=(r.start-b.submit_ms) as f64/60e3;w.push(x);j+=(r.end-b.submit_ms) as f64/3.6e6;if b.gpus>=16{g.0+=x/60.;g.1+=1.}gw+=x/60.*b.gpus as f64;}
 let n=w.len() as f64;let mean=w.iter().sum::<f64>()/n;w.sort_by(|a,b|a.total_cmp(b));let q=|p:f64|w[((n*p) as usize).min(w.len()-1)];
 let (m,ow)=o.shares.iter().fold((0.,0.),|a,s|(a.0+s.missing as f64,a.1+s.owed as f64));
 let worst=o.shares.iter().filter(|s|s.owed>0).map(|s|s.missing as f64/s.owed as f64).fold(0.,f64::max);
 F{jct:j/n,mean,p50:q(0.5),p95:q(0.95),p99:q(0.99),g16:if g.1>0.{g.0/g.1}else{0.},gw:gw/1000.,err:m/ow.max(1.),worst}}
fn med(mut v:Vec<F>)->F{let mut m=v[0].clone();macro_rules! f{($($n:ident),*)=>{$(v.sort_by(|a,b|a.$n.total_cmp(&b.$n));m.$n=v[v.len()/2].$n;)*}}f!(jct,mean,p50,p95,p99,g16,gw,err,worst);m}
fn main(){
 let a:Vec<String>=std::env::args().collect();
 let kinds:Vec<&str>=a[1].split(',').collect();
 let which=&a[2];
 let seed:u64=a[3].parse().unwrap();
 let pols:Vec<&str>=a[4].split(',').collect();
 let fl=if which=="A"{fleet(&[192,128,96,64,48,32,24,16])}else{fleet(&[224,160,112,80,56,40,24,16])};
 let load=if which=="A"{0.92}else{0.77};
 let mut base=Terms::default();
 let mut sets=vec![(String::from("base"),base)];
 // rest args: name=val[,name=val] variations
 for v in &a[5..]{ let mut t=base; for kv in v.split(','){let (k,x)=kv.split_once('=').unwrap();let n:u64=x.parse().unwrap();
   match k{"sz"=>t.size_quarters=n as u32,"pat"=>t.patience=n*60000,"pq"=>t.patience_quarters=n as u32,"pr"=>t.pressure_quarters=n as u32,"gf"=>t.guarantee_first=n>0,"rg"=>t.reserve_guaranteed=n*60000,"rb"=>t.reserve_borrowing=n*60000,"rf"=>t.reserve_from=n as i64*1000,"rn"=>t.reservations=n as usize,"cb"=>t.careful_backfill=n>0,_=>panic!("{k}")}}
   if v.ends_with(",b=1"){base=t} sets.push((v.clone(),t)); }
 for k in kinds{
  let tr=generate(&Assumptions::named(k,seed,fl.gpus(),load).unwrap());
  let mut mkf:Option<F>=None;
  for p in &pols{
   let pol:PolicyName=p.parse().unwrap();
   let runs:Vec<(String,F)>= if pol.is_model(){
     let seeds=if *p=="fifo-best-fit"||*p=="static-hash"{1}else{3};
     let t0=std::time::Instant::now();
     let f=med((0..seeds).map(|s|figs(&tr,&replay(&Setting{trace:&tr,fleet:&fl,policy:pol,seed:s,terms:base}).unwrap())).collect());
     vec![(format!("{p} {:.1}s",t0.elapsed().as_secs_f64()/seeds as f64),f)]
   }else{ sets.iter().map(|(n,t)|{let t0=std::time::Instant::now();let f=figs(&tr,&replay(&Setting{trace:&tr,fleet:&fl,policy:pol,seed:0,terms:*t}).unwrap());(format!("{p} {n} {:.1}s",t0.elapsed().as_secs_f64()),f)}).collect()};
   for (n,f) in runs{
    if mkf.is_none(){mkf=Some(f.clone());println!("== {k} {which} jobs {} big {}",tr.jobs.len(),tr.jobs.iter().filter(|j|j.gpus>=16).count());}
    let m=mkf.as_ref().unwrap();
    println!("jct {:6.2} ({:.3}) wait {:5.0} p50 {:5.1} p95 {:6.0} p99 {:6.0} ({:.2}) g16 {:6.2}h ({:.2}) gwh {:5.0}k err {:.3} worst {:.3} | {n}",f.jct,f.jct/m.jct,f.mean,f.p50,f.p95,f.p99,f.p99/m.p99,f.g16,f.g16/m.g16.max(1e-9),f.gw,f.err,f.worst);
   }}}
}
